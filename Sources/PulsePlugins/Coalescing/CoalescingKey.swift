// SPDX-License-Identifier: MIT

import PulseCore

/// What calls have in common that may share one request: whatever could make a difference to their answers.
// A class, as it is handed on through asynchronous functions and compared with itself mostly.
final class CoalescingKey: Hashable, Sendable {
    private struct Terms: Equatable, Sendable {
        /// A plugin may serve several clients, whose plugins and transports differ.
        let client: ObjectIdentifier
        let method: String
        let url: URL
        let account: String?
        /// The bytes themselves: a digest would save no memory while the requests that hold them are under way.
        let body: Data?
        /// Credentials are among them.
        let headers: [String: String]
        /// On a hop away from home, what the wire lets through.
        let permitted: [String: String]?
        let limit: Int
        let options: CoalescingOptions
    }

    private let terms: Terms
    /// Of what mostly differs, made once: the table asks for it several times a call.
    private let hash: Int

    /// Nil for a call that goes alone.
    init?(_ request: URLRequest, for context: PluginContext) {
        guard context.call.options.coalesces != false, case .buffered(let limit) = context.delivery,
            case .inRequest = context.body, request.httpBodyStream == nil, context.method.isSafe,
            let url = request.url, let method = HTTPMethod(rawValue: request.httpMethod ?? "GET"), method.isSafe,
            let options = CoalescingOptions(of: context)
        else { return nil }
        terms = Terms(
            client: ObjectIdentifier(context.call.environment), method: method.rawValue, url: url,
            account: context.store[AccountID.self], body: request.httpBody,
            headers: (request.allHTTPHeaderFields ?? [:]).withoutCallsOwnFields,
            permitted: context.builtHeaders?.withoutCallsOwnFields, limit: limit, options: options)
        var hasher = Hasher()
        hasher.combine(url.absoluteString)
        hasher.combine(terms.account)
        hasher.combine(terms.headers.header("Authorization"))
        hash = hasher.finalize()
    }

    static func == (left: CoalescingKey, right: CoalescingKey) -> Bool {
        left === right || left.hash == right.hash && left.terms == right.terms
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

extension [String: String] {
    private static let callsOwn = ["traceparent", "tracestate", "baggage", "x-request-id", "idempotency-key"]

    /// Without what is another for every call and means nothing for its answer.
    fileprivate var withoutCallsOwnFields: Self {
        keys.contains(where: Self.isCallsOwn) ? filter { !Self.isCallsOwn($0.key) } : self
    }

    private static func isCallsOwn(_ name: String) -> Bool {
        callsOwn.contains { $0.equalsIgnoringASCIICase(name) }
    }
}
