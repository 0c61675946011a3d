// SPDX-License-Identifier: MIT

import PulseCore

/// A rule for a ``MockTransport``: the requests that it matches, and their replies.
///
/// ```swift
/// let users = Stub(.get, "/users/{id}").header("Accept", "application/json")
///     .reply(.status(503), .json(User(id: 7)))               // for the first call, then for all others
/// let fails = Stub(.post, "/users").reply(.failure(URLError(.networkConnectionLost)))
/// let transport = MockTransport(stubs: [users, fails])
/// …
/// #expect(users.count == 2)
/// ```
///
/// A request must satisfy all conditions of the stub. A stub without replies returns an empty 200. Each method returns
/// a new stub with its own count; copies of a stub share one count.
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

    /// Creates a stub for requests with a method and path; by default for every request.
    ///
    /// - Parameter method: nil for any.
    /// - Parameter pathTemplate: compared with the URL's whole path, percent-decoded, segment by segment. `{name}`
    ///   matches a segment or part of one, `{name...}` at the end the rest. A query requires its items, an absolute URL
    ///   its scheme, host and port too. Nil for any.
    public init(_ method: HTTPMethod? = nil, _ pathTemplate: String? = nil) {
        self.method = method
        target = pathTemplate.map { StubTarget($0) }
    }

    // MARK: Conditions

    /// Requires a query item with this name and value; without a value, any item with this name.
    public func query(_ name: String, _ value: String? = nil) -> Stub {
        adding(.query(name, value))
    }

    /// Requires a header with this name, in any case, and value; without a value, any header with this name.
    public func header(_ name: String, _ value: String? = nil) -> Stub {
        adding(.header(name, value))
    }

    /// Requires the host, in any case.
    public func host(_ host: String) -> Stub {
        adding(.host(host))
    }

    /// Requires a body of exactly these bytes. File and stream bodies are not read.
    public func body(_ body: Data) -> Stub {
        matching("the body has other bytes") { $0.httpBody ?? Data() == body }
    }

    /// Requires a JSON body equal to the value, whatever its formatting.
    public func body(json: JSONValue) -> Stub {
        matching("the body is other JSON") { request in
            request.httpBody.flatMap { try? JSONResponseDecoder.json.decode(JSONValue.self, from: $0) } == json
        }
    }

    /// Requires a JSON body that contains the value; other members are ignored.
    ///
    /// An object contains another if it has the other's members and each value contains the other's. An array contains
    /// another if each element of the other is contained in one of its own, in any order. Any other value contains only
    /// an equal one.
    public func body(jsonContaining json: JSONValue) -> Stub {
        adding(.body(containing: json))
    }

    /// Requires that the closure returns true.
    ///
    /// - Parameter otherwise: the reason given in the failure if the closure returns false.
    public func matching(
        _ otherwise: String = "a custom condition does not hold",
        _ condition: @escaping @Sendable (URLRequest) -> Bool
    ) -> Stub {
        adding(StubCondition { condition($0) ? nil : otherwise })
    }

    // MARK: Replies

    /// Appends replies, used in turn after the existing ones.
    public func reply(_ replies: Reply...) -> Stub {
        changed { $0.replies += replies }
    }

    /// Sets the behavior after the last reply; ``Exhaustion/repeatsLast`` by default.
    public func whenExhausted(_ exhaustion: Exhaustion) -> Stub {
        changed { $0.exhaustion = exhaustion }
    }

    /// The number of replies so far.
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

    /// - Parameter otherwise: the response if no stub matches; nil fails the request.
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
