// SPDX-License-Identifier: MIT

import PulseCore

/// The content of an endpoint whose request is more than its body: it also decides how the call is named, where it goes
/// and what its outcome is.
package protocol CallContent: OperationContent, AnyObject {
    /// The `Accept` of a request that does not set it.
    var accept: String { get }
    /// The route of a call whose options set none; nil for the endpoint's type.
    var route: String? { get }
    /// A value that is equal for equal contents; nil for contents that cannot be compared.
    var comparisonValue: AnyHashable? { get }

    /// Throws if the content cannot be sent as a request.
    func check() throws
    /// The path of a call, given the endpoint's path.
    func path(_ path: String, in configuration: PulseConfiguration) -> String
    /// The plugins of a call with a buffered response, around those of the endpoint.
    func plugins(in client: PulseClient) -> [any PulsePlugin]
    /// Stores the values that the chain and the client read from the call.
    func prepare(_ call: Call)
    func body(using encoder: any RequestEncoder) throws -> RequestBody
    /// Makes the final changes to the built request.
    func complete(
        _ built: inout BuiltRequest, in configuration: PulseConfiguration, using encoder: any RequestEncoder) throws
}

extension RequestBody {
    /// Nil for a body that is only bytes.
    package var callContent: (any CallContent)? {
        if case .operation(let operation) = content { operation as? any CallContent } else { nil }
    }
}
