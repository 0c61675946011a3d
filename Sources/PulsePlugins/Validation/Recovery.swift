// SPDX-License-Identifier: MIT

public import PulseCore

/// What puts right that answers are not as they should be: a request, or work of one's own.
///
/// It runs once for all calls that ask for one of its name at the same time, in a task of the plugin's: a call that is
/// cancelled leaves alone, and the work goes on, since a server may have acted upon it already. All who waited get its
/// outcome. A call whose request was sent before the last success under that name is sent again without another one.
public struct Recovery: Sendable {
    enum Work: Sendable {
        case request(URLRequest)
        case task(@Sendable () async throws -> Void)
    }

    let name: String
    let work: Work

    /// Sends another request through what stands further in than the plugin; any 2xx is a success. No redirect of it is
    /// followed.
    ///
    /// - Parameter name: the request's method and URL by default.
    public static func request(_ request: URLRequest, named name: String? = nil) -> Recovery {
        Recovery(
            name: name ?? "\(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "")",
            work: .request(request))
    }

    /// Runs a closure. Calls that it makes through a client with the same plugin pass that one untouched: they do not
    /// wait for what they are part of.
    public static func task(_ name: String, _ work: @escaping @Sendable () async throws -> Void) -> Recovery {
        Recovery(name: name, work: .task(work))
    }
}
