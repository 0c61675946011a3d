// SPDX-License-Identifier: MIT

import PulseCore

/// The properties that calls must have in common to share one request: everything that could affect their responses.
// A class: it is passed through asynchronous functions and mostly compared with itself.
final class CoalescingKey: Hashable, Sendable {
    private struct Terms: Equatable, Sendable {
        /// A plugin may serve several clients with different plugins and transports.
        let client: ObjectIdentifier
        let method: String
        let url: URL
        let account: String?
        /// The bytes themselves: a digest would save no memory while the requests that hold them are in flight.
        let body: Data?
        /// Including credentials.
        let headers: [String: String]
        /// On a hop to a foreign origin: the headers that may be sent there.
        let permitted: [String: String]?
        let limit: Int
        let options: SharedOptions

        /// Compares strings by bytes: two accounts that Swift considers equal may differ for the server.
        static func == (left: Terms, right: Terms) -> Bool {
            left.client == right.client && left.method == right.method && left.url == right.url
                && left.account.map { Array($0.utf8) } == right.account.map { Array($0.utf8) }
                && left.body == right.body && left.headers.hasBytes(of: right.headers)
                && (left.permitted == nil) == (right.permitted == nil)
                && (left.permitted ?? [:]).hasBytes(of: right.permitted ?? [:])
                && left.limit == right.limit && left.options == right.options
        }
    }

    private let terms: Terms
    /// Computed once from the parts that differ most: the dictionary needs it several times per call.
    private let hash: Int

    /// Nil for a call that is not shared.
    init?(_ request: URLRequest, for context: PluginContext) {
        guard context.call.options.coalesces != false, case .buffered(let limit) = context.delivery,
            case .inRequest = context.body, request.httpBodyStream == nil, context.method.isSafe,
            let url = request.url, let method = HTTPMethod(rawValue: request.httpMethod ?? "GET"), method.isSafe,
            let options = SharedOptions(of: context, cache: context.options.cache)
        else { return nil }
        terms = Terms(
            client: ObjectIdentifier(context.call.environment), method: method.rawValue, url: url,
            account: context.account.identifier, body: request.httpBody,
            headers: (request.allHTTPHeaderFields ?? [:]).withoutCallsOwnFields,
            permitted: context.builtHeaders?.withoutCallsOwnFields, limit: limit, options: options)
        var hasher = Hasher()
        hasher.combine(url.absoluteString)
        hasher.combine(terms.account)
        hasher.combine(terms.headers.header("Authorization"))
        hash = hasher.finalize()
    }

    var url: URL { terms.url }

    static func == (left: CoalescingKey, right: CoalescingKey) -> Bool {
        left === right || left.hash == right.hash && left.terms == right.terms
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

extension [String: String] {
    private static let callsOwn = ["traceparent", "tracestate", "baggage", "x-request-id", "idempotency-key"]

    /// Without the fields that differ with every call and do not affect its response.
    fileprivate var withoutCallsOwnFields: Self {
        keys.contains(where: Self.isCallsOwn) ? filter { !Self.isCallsOwn($0.key) } : self
    }

    fileprivate func hasBytes(of other: Self) -> Bool {
        count == other.count && allSatisfy { other[$0.key]?.utf8.elementsEqual($0.value.utf8) == true }
    }

    private static func isCallsOwn(_ name: String) -> Bool {
        callsOwn.contains { $0.equalsIgnoringASCIICase(name) }
    }
}
