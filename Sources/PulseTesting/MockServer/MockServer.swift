// SPDX-License-Identifier: MIT

import PulseCore

/// A scriptable HTTP/1.1 server on a loopback socket, for tests that need real connections and their faults.
///
/// ```swift
/// try await MockServer.run { server in
///     server.on(.get, "/users/{id}") { request in
///         try .json(["id": request.parameters["id"]])
///     }
///     server.on(.get, "/flaky", script: [.raw([.reset]), .status(503), .text("at last")])
///     let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))
///     …
/// }
/// ```
///
/// It serves any number of connections without a thread for each, records requests (``activity``), and lets a test wait
/// for records (``wait(until:)``) instead of sleeping. All members are safe from any thread. A server lives until
/// ``shutdown()``; a released server closes its sockets as well, a moment later.
public final class MockServer: Sendable {
    /// `http://127.0.0.1:PORT`, without a trailing slash; `https` with ``Configuration/tls``.
    public let baseURL: URL
    private let core: ServerCore

    private init(core: ServerCore, baseURL: URL) {
        self.core = core
        self.baseURL = baseURL
    }

    deinit {
        core.close()
    }

    /// Starts a server on a free port of the loopback interface, ready for connections.
    ///
    /// - Parameter clock: the clock of all delays.
    ///
    /// Throws ``PulseError/custom(_:)`` if the system has no free socket or port, ``PulseError/unsupported(_:)`` for
    /// TLS without libssl, and ``PulseError/invalidRequest(reason:)`` for an identity that libssl refuses.
    public static func start(
        _ configuration: Configuration = Configuration(), clock: any PulseClock = SystemClock()
    ) async throws -> MockServer {
        do {
            let core = try ServerCore(configuration, clock: clock)
            let host = configuration.host == .ipv4 ? "127.0.0.1" : "[::1]"
            let scheme = configuration.tls == nil ? "http" : "https"
            guard let url = URL(string: "\(scheme)://\(host):\(core.port)") else {
                throw SocketFailure(operation: "URL", code: 0)
            }
            core.open()
            return MockServer(core: core, baseURL: url)
        } catch {
            throw PulseError(wrapping: error)
        }
    }

    /// Runs `body` with a new server, on the caller's actor, and shuts the server down afterwards, whatever the
    /// outcome. Throws the errors of `body` and of ``start(_:clock:)``.
    public static func run<Value>(
        _ configuration: Configuration = Configuration(), clock: any PulseClock = SystemClock(),
        isolation: isolated (any Actor)? = #isolation, _ body: (MockServer) async throws -> Value
    ) async throws -> Value {
        let server = try await start(configuration, clock: clock)
        do {
            let value = try await body(server)
            await server.shutdown()
            return value
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// The clock of all delays.
    var clock: any PulseClock { core.clock }

    /// The port on the loopback interface.
    public var port: Int { core.port }

    /// Closes the listener and all connections, cancels the running handlers and waits for them. Afterwards the server
    /// has no task, socket or source left, and the port is free. Do not await it inside a handler: it would wait for
    /// itself. May be called again.
    public func shutdown() async {
        core.close()
        await core.disposal()
    }

    // MARK: Routes

    /// Responds to requests of a method and path with the closure's result.
    ///
    /// `{name}` in the template matches a segment or a part of one, `{name...}` at its end all that remain; their
    /// values are in ``RecordedRequest/parameters``. Paths are compared percent-decoded, segment by segment, and a
    /// trailing slash counts. Of several matching routes, the last added responds; adding the same method and template
    /// again replaces the earlier route. A GET route serves HEAD too, unless HEAD has its own.
    ///
    /// The closure runs in a task that is cancelled when the client disconnects. An error that it throws becomes a 500
    /// with its text.
    public func on(
        _ method: HTTPMethod, _ pathTemplate: String, reading: Reading = .whole,
        _ respond: @escaping @Sendable (RecordedRequest) async throws -> Response
    ) {
        let route = Router.Route(
            method: method, template: PathTemplate(pathTemplate), reading: reading, respond: respond)
        core.route { $0.add(route) }
    }

    /// Responds to successive requests with successive responses of the script; the last repeats. An empty script
    /// responds with a 500 that says so.
    public func on(
        _ method: HTTPMethod, _ pathTemplate: String, reading: Reading = .whole, script: [Response]
    ) {
        let rest = Locked(script[...])
        on(method, pathTemplate, reading: reading) { request in
            let next = rest.withLock { rest in
                rest.count > 1 ? rest.popFirst() : rest.first
            }
            return next ?? .text("The script of \(request.method) \(pathTemplate) is empty\n", status: 500)
        }
    }

    /// Responds to requests without a matching route; without a fallback they get a 404 that lists the request and the
    /// routes.
    public func fallback(_ respond: @escaping @Sendable (RecordedRequest) async throws -> Response) {
        core.route { $0.setFallback(respond) }
    }

    /// Performs steps on each connection, given its index, before anything is read from it: for a server that accepts
    /// and sends nothing, resets at once, or uses another protocol. Reading follows if the last step leaves the
    /// connection open.
    public func onAccept(_ steps: @escaping @Sendable (_ connection: Int) -> [Step]) {
        core.route { $0.setGreeting(steps) }
    }

    // MARK: Activity

    /// The record so far.
    public var activity: Activity { core.log.activity }

    /// Discards the recorded requests to free their bodies, between two phases of a test or in a test of millions of
    /// requests. The records of connections and sockets stay.
    public func forgetRequests() {
        core.log.forgetRequests()
    }

    /// Requests that were received completely, in the order of their completion.
    public var requests: [RecordedRequest] { activity.requests }

    /// Connections accepted so far.
    public var connectionCount: Int { activity.connections.count }

    /// Connections that are open now.
    public var openConnectionCount: Int { activity.openConnectionCount }

    /// Suspends until the condition holds, and returns that activity. The condition is evaluated after every change, on
    /// the thread that made it: keep it short. Throws ``PulseError/cancelled`` if the task is cancelled or the server
    /// shuts down first.
    @discardableResult
    public func wait(until condition: @escaping @Sendable (Activity) -> Bool) async throws -> Activity {
        try await core.log.wait(until: condition)
    }

    /// Suspends until `count` requests have been received completely, and returns them all. Throws like
    /// ``wait(until:)``.
    @discardableResult
    public func requests(atLeast count: Int) async throws -> [RecordedRequest] {
        try await wait { $0.requests.count >= count }.requests
    }

    /// Suspends until clients have closed or reset `count` connections, and returns these: proof that a cancellation
    /// closed the connection. Throws like ``wait(until:)``.
    @discardableResult
    public func connectionsClosedByClient(atLeast count: Int = 1) async throws -> [Connection] {
        try await wait { $0.connectionsClosedByClient.count >= count }.connectionsClosedByClient
    }
}
