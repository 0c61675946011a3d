// SPDX-License-Identifier: MIT

import PulseCore

/// What calls have in common that may share one request: whatever could make a difference to their answers.
struct CoalescingKey: Hashable, Sendable {
    /// Of what mostly differs, made once: the table asks for it several times a call.
    private let hash: Int
    /// A plugin may serve several clients, whose plugins and transports differ.
    private let client: ObjectIdentifier
    private let method: String
    private let url: URL
    private let account: String?
    /// The bytes themselves: a digest would save no memory while the requests that hold them are under way.
    private let body: Data?
    /// Credentials are among them.
    private let headers: [String: String]
    /// On a hop away from home, what the wire lets through.
    private let permitted: [String: String]?
    private let limit: Int
    private let options: CoalescingOptions

    /// Nil for a call that goes alone.
    init?(_ request: URLRequest, for context: PluginContext) {
        guard context.call.options.coalesces != false, case .buffered(let limit) = context.delivery,
            case .inRequest = context.body, request.httpBodyStream == nil, context.method.isSafe,
            let url = request.url, let method = HTTPMethod(rawValue: request.httpMethod ?? "GET"), method.isSafe,
            let options = CoalescingOptions(of: context)
        else { return nil }
        client = ObjectIdentifier(context.call.environment)
        self.method = method.rawValue
        self.url = url
        account = context.store[AccountID.self]
        body = request.httpBody
        headers = (request.allHTTPHeaderFields ?? [:]).withoutCallsOwnFields
        permitted = context.builtHeaders?.withoutCallsOwnFields
        self.limit = limit
        self.options = options
        var hasher = Hasher()
        hasher.combine(url.absoluteString)
        hasher.combine(account)
        hasher.combine(headers["Authorization"])
        hash = hasher.finalize()
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
