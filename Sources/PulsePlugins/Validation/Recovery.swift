// SPDX-License-Identifier: MIT

public import PulseCore

/// Work that puts things right before a request is sent again: another request, or a closure of the app.
///
/// It runs once for all calls that ask for that name at the same time, in a task of the plugin: a cancelled call leaves
/// alone, and the work goes on, since a server may have acted upon it already. All calls that wait get its outcome. A
/// call whose request was sent before the last success under that name is sent again without another recovery.
public struct Recovery: Sendable {
    enum Work: Sendable {
        case request(URLRequest)
        case task(@Sendable () async throws -> Void)
    }

    let name: String
    let work: Work

    /// Sends another request through the plugins further in; any 2xx is a success. Its redirects are not followed.
    /// It fails with ``PulseCore/PulseError/responseTooLarge(limit:)`` if its answer's body is over 1 MiB.
    ///
    /// It is sent as the client sends a ready request, and nothing of the call goes with it: its own headers as they
    /// are, at any origin; under them the configuration's default headers, the secret ones at home alone; and what the
    /// cookie store has for its URL, unless it has a `Cookie`. Its events name its own method, path and host, and the
    /// host as their route.
    ///
    /// - Parameter name: the request's method and URL by default.
    public static func request(_ request: URLRequest, named name: String? = nil) -> Recovery {
        Recovery(
            name: name ?? "\(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "")",
            work: .request(request))
    }

    /// Runs a closure. Calls that it makes through a client with the same plugin pass that plugin untouched: they do
    /// not wait for the work they are part of.
    public static func task(_ name: String, _ work: @escaping @Sendable () async throws -> Void) -> Recovery {
        Recovery(name: name, work: .task(work))
    }
}
