// SPDX-License-Identifier: MIT

import PulseCore

/// The routes of a server: the route that was added last among the matching ones responds.
struct Router: Sendable {
    typealias Responder = @Sendable (RecordedRequest) async throws -> MockServer.Response

    struct Route: Sendable {
        let method: HTTPMethod
        let template: PathTemplate
        let reading: MockServer.Reading
        let respond: Responder
    }

    struct Match: Sendable {
        let reading: MockServer.Reading
        let parameters: [String: String]
        let respond: Responder
    }

    private var routes: [Route] = []
    private var fallback: Responder?
    private var greeting: (@Sendable (Int) -> [MockServer.Step])?

    mutating func add(_ route: Route) {
        routes.removeAll { $0.method == route.method && $0.template == route.template }
        routes.append(route)
    }

    mutating func setFallback(_ respond: @escaping Responder) {
        fallback = respond
    }

    mutating func setGreeting(_ steps: @escaping @Sendable (Int) -> [MockServer.Step]) {
        greeting = steps
    }

    /// The function that makes the steps before anything is read.
    var greetingMaker: (@Sendable (Int) -> [MockServer.Step])? { greeting }

    /// A HEAD request without its own route goes to the route for GET, and the framing omits the body.
    func match(_ method: HTTPMethod, path: String) -> Match {
        let found = find(method, path) ?? (method == .head ? find(.get, path) : nil)
        if let found { return found }
        if let fallback { return Match(reading: .whole, parameters: [:], respond: fallback) }
        let known = routes.map { "  \($0.method) \($0.template)" }.joined(separator: "\n")
        return Match(reading: .whole, parameters: [:]) { request in
            let routes = known.isEmpty ? "There are no routes." : "Routes:\n\(known)"
            return .text("No route for \(request.method) \(request.path)\n\(routes)\n", status: 404)
        }
    }

    private func find(_ method: HTTPMethod, _ path: String) -> Match? {
        for route in routes.reversed() where route.method == method {
            guard let parameters = route.template.match(path) else { continue }
            return Match(reading: route.reading, parameters: parameters, respond: route.respond)
        }
        return nil
    }
}
