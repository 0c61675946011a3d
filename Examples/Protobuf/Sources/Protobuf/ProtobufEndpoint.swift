// SPDX-License-Identifier: MIT

import PulseKit
import SwiftProtobuf

/// A call whose body and response are Protobuf messages.
///
/// An endpoint with `parameters` sends them by POST, one without sends no body by GET, unless it sets its method.
protocol ProtobufEndpoint: Endpoint where Response: Message {
    associatedtype Parameters: Message = NoParameters

    /// The message to send.
    var parameters: Parameters { get }
}

private let mediaType = "application/x-protobuf"

/// The parameters of an endpoint that sends no message.
typealias NoParameters = Google_Protobuf_Empty

extension ProtobufEndpoint {
    var method: HTTPMethod { Parameters.self == NoParameters.self ? .get : .post }
    var headers: [String: String] { ["Accept": mediaType] }
    var body: RequestBody { Parameters.self == NoParameters.self ? .none : .protobuf(parameters) }

    func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Response {
        // The page of a proxy may happen to decode, since unknown fields are valid.
        let type = response.headers["Content-Type"]?.lowercased() ?? mediaType
        guard type.hasPrefix(mediaType) || type.hasPrefix("application/protobuf") else { throw OtherFormat(type: type) }
        return try Response(serializedBytes: response.data)
    }
}

extension ProtobufEndpoint where Parameters == NoParameters {
    var parameters: NoParameters { NoParameters() }
}

extension RequestBody {
    /// A message. One that cannot be encoded, because a required field is not set, is `PulseError.encodingFailed`.
    static func protobuf(_ message: some Message) -> RequestBody {
        .encoded(contentType: mediaType) { try message.serializedData() }
    }
}

extension PulseClient {
    /// The same as `request(_:options:)`.
    func protobufRequest<E: ProtobufEndpoint>(
        _ endpoint: E, options: RequestOptions = RequestOptions()
    ) async throws -> E.Response {
        try await request(endpoint, options: options)
    }
}

/// A response in another format.
struct OtherFormat: Error {
    let type: String
}
