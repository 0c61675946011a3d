// SPDX-License-Identifier: MIT

import PulseCore

/// A rule for a ``MockTransport``: the requests that it matches, and their replies.
///
/// ```swift
/// let users = Stub(.get, "/users/{id}").header("Accept", "application/json")
///     .reply(.status(503), .json(User(id: 7)))               // the first time, then ever after
/// let fails = Stub(.post, "/users").reply(.failure(URLError(.networkConnectionLost)))
/// let transport = MockTransport(stubs: [users, fails])
/// …
/// #expect(users.count == 2)
/// ```
///
/// A request must satisfy all conditions of the stub. A stub without replies returns an empty 200. Each of the methods
/// returns a stub with its own count; copies of the same stub share their count.
public struct Stub: Sendable {
    /// The behavior after the last reply.
    public enum Exhaustion: Sendable, Hashable {
        /// The last reply repeats.
        case repeatsLast
        /// The stub no longer matches: a later stub may, and otherwise the request fails.
        case stopsMatching
    }

    struct Match: Sendable {
        let reply: Reply
        let parameters: [String: String]
    }

    private struct Usage {
        var count = 0
    }

    private let method: HTTPMethod?
    private let target: StubTarget?
    private var conditions: [StubCondition] = []
    private var replies: [Reply] = []
    private var exhaustion = Exhaustion.repeatsLast
    private var usage = Locked(Usage())

    /// A stub for requests of that method and path; for every request by default.
    ///
    /// - Parameter method: nil for any.
    /// - Parameter pathTemplate: compared with the whole path of the URL, percent-decoded, segment by segment; `{name}`
    ///   takes a segment, `{name...}` at the end the rest. A query in it requires these items, an absolute URL its
    ///   scheme, host and port too. Nil for any.
    public init(_ method: HTTPMethod? = nil, _ pathTemplate: String? = nil) {
        self.method = method
        target = pathTemplate.map { StubTarget($0) }
    }

    // MARK: Conditions

    /// Requires a query item of that name and value; without a value, any item of that name.
    public func query(_ name: String, _ value: String? = nil) -> Stub {
        adding(.query(name, value))
    }

    /// Requires a header of that name, in any case, and that value; without a value, any header of that name.
    public func header(_ name: String, _ value: String? = nil) -> Stub {
        adding(.header(name, value))
    }

    /// Requires that host, in any case.
    public func host(_ host: String) -> Stub {
        adding(.host(host))
    }

    /// Requires those bytes as the body. File and stream bodies are not read.
    public func body(_ body: Data) -> Stub {
        matching("the body has other bytes") { $0.httpBody ?? Data() == body }
    }

    /// Requires a JSON body of that value, whatever its spelling.
    public func body(json: JSONValue) -> Stub {
        matching("the body is other JSON") { request in
            request.httpBody.flatMap { try? JSONResponseDecoder.json.decode(JSONValue.self, from: $0) } == json
        }
    }

    /// Requires a JSON body that contains that value; other members are ignored.
    ///
    /// An object contains another if it has its members, each containing the other's. An array contains another if each
    /// of its elements is contained in some element, in any order. Any other value contains an equal value.
    public func body(jsonContaining json: JSONValue) -> Stub {
        adding(.body(containing: json))
    }

    /// Requires that the closure returns true.
    ///
    /// - Parameter otherwise: the reason that the failure names if the closure returns false.
    public func matching(
        _ otherwise: String = "a custom condition does not hold",
        _ condition: @escaping @Sendable (URLRequest) -> Bool
    ) -> Stub {
        adding(StubCondition { condition($0) ? nil : otherwise })
    }

    // MARK: Replies

    /// Adds these replies, used in turn after the existing ones.
    public func reply(_ replies: Reply...) -> Stub {
        changed { $0.replies += replies }
    }

    /// Sets the behavior after the last reply; ``Exhaustion/repeatsLast`` by default.
    public func whenExhausted(_ exhaustion: Exhaustion) -> Stub {
        changed { $0.exhaustion = exhaustion }
    }

    /// The number of its replies.
    public var count: Int {
        usage.withLock { $0.count }
    }

    private func adding(_ condition: StubCondition) -> Stub {
        changed { $0.conditions.append(condition) }
    }

    private func changed(_ change: (inout Stub) -> Void) -> Stub {
        var copy = self
        copy.usage = Locked(Usage())
        change(&copy)
        return copy
    }

    // MARK: Matching

    /// Takes the next reply, or returns the mismatch.
    func take(_ request: URLRequest) -> Result<Match, StubMismatch> {
        let asked = request.httpMethod ?? "GET"
        if let method, method.rawValue != asked { return .failure(StubMismatch("the method is \(asked)")) }
        var parameters: [String: String] = [:]
        switch target?.match(request.url) {
        case .success(let found)?: parameters = found
        case .failure(let mismatch)?: return .failure(mismatch)
        case nil: break
        }
        for condition in conditions {
            if let reason = condition.mismatch(request) { return .failure(StubMismatch(reason)) }
        }
        let index = usage.withLock { usage -> Int? in
            let isExhausted = usage.count >= max(1, replies.count)
            if isExhausted, exhaustion == .stopsMatching { return nil }
            defer { usage.count += 1 }
            return usage.count
        }
        guard let index else { return .failure(StubMismatch("it has given all its replies")) }
        let reply = replies.isEmpty ? .status(200) : replies[min(index, replies.count - 1)]
        return .success(Match(reply: reply, parameters: parameters))
    }

    /// - Parameter otherwise: the response without a match; nil fails the request.
    static func response(
        to sent: TransportRequest, from stubs: [Stub], otherwise: (() async throws -> PulseResponse)? = nil
    ) async throws -> PulseResponse {
        let request = sent.urlRequest
        var reasons: [String] = []
        for (index, stub) in stubs.enumerated() {
            switch stub.take(request) {
            case .success(let match): return try await match.reply.respond(request, match.parameters)
            case .failure(let mismatch): reasons.append("\(index + 1). \(stub): \(mismatch.reason)")
            }
        }
        if let otherwise { return try await otherwise() }
        throw PulseError.custom(UnmatchedRequest(request, sent.redaction, reasons: reasons))
    }
}

extension Stub: CustomStringConvertible {
    /// Method and path template.
    public var description: String {
        "\(method?.rawValue ?? "any method") \(target?.description ?? "any path")"
    }
}
