// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability

/// Selects the calls that the console shows. A call must pass every part; by default all calls do.
public struct ConsoleFilter: Sendable, Hashable {
    /// The text to find in the method, the host, the path, the route, the error, the status, and the URLs and headers
    /// of requests and responses. Case and surrounding whitespace are ignored; an empty text matches everything.
    public var text = ""
    /// Whether to search for ``text`` in bodies as well.
    public var searchesBodies = false
    /// The method of the call; nil for all.
    public var method: HTTPMethod?
    /// The initial host of the call; nil for all.
    public var host: String?
    /// How the call ended; nil for all.
    public var outcome: ConsoleOutcome?
    /// Only calls that took longer, in seconds; nil for all. A call in progress has no duration yet.
    public var slowerThan: TimeInterval?

    /// Creates a filter that every call passes.
    public init() {}

    /// Suggested values of ``slowerThan`` in seconds, sorted; the current value is among them.
    public var thresholds: [TimeInterval] {
        Set([0.1, 0.5, 1, 5]).union(slowerThan.map { [$0] } ?? []).sorted()
    }

    /// The calls that pass, in their order.
    public func calls(of recording: PulseRecording) -> [PulseRecording.Call] {
        let search = TextSearch(text)
        return recording.calls.filter { passes($0, search) }
    }

    private func passes(_ call: PulseRecording.Call, _ search: TextSearch?) -> Bool {
        if let method, call.method != method { return false }
        if let host, call.host != host { return false }
        if let outcome, ConsoleOutcome(call) != outcome { return false }
        if let slowerThan {
            guard call.outcome != nil, let latency = call.latency, latency > slowerThan else { return false }
        }
        guard let search else { return true }
        return call.containsMatch(of: search) || searchesBodies && call.bodiesContainMatch(of: search)
    }
}

extension PulseRecording.Call {
    fileprivate func containsMatch(of search: TextSearch) -> Bool {
        if search.matches(method.rawValue) || search.matches(host) || search.matches(endpointPath)
            || search.matches(route)
        {
            return true
        }
        if let statusCode, search.matches("\(statusCode)") { return true }
        if case .failure(let error) = outcome, search.matches(error.kind.rawValue) || search.matches(error.message) {
            return true
        }
        return exchanges.contains { exchange in
            search.matches(exchange.request.url) || search.matches(exchange.request.headers)
                || exchange.response.map { search.matches("\($0.statusCode)") || search.matches($0.headers) } == true
                || exchange.failure.map { search.matches($0.message) } == true
        }
    }

    fileprivate func bodiesContainMatch(of search: TextSearch) -> Bool {
        exchanges.contains { exchange in
            [exchange.request.body, exchange.response?.body ?? .none].contains { $0.text.map(search.matches) == true }
        }
    }
}

extension TextSearch {
    fileprivate func matches(_ headers: HTTPHeaders) -> Bool {
        headers.contains { matches($0.name) || matches($0.value) }
    }
}
