// SPDX-License-Identifier: MIT

public import PulseCore

extension Validator {
    /// Work to do before a request is resent: another request, or a closure of the app.
    ///
    /// It runs once for all concurrent calls that ask for the same name, in a task of the plugin. A cancelled call
    /// stops waiting, and the work continues, since a server may have acted on it already. All waiting calls get its
    /// outcome. A call whose request was sent before the last success under that name is resent without another
    /// recovery.
    public struct Recovery: Sendable {
        enum Work: Sendable {
            case request(URLRequest)
            case task(@Sendable () async throws -> Void)
        }

        let name: String
        let work: Work

        /// Sends another request through the inner plugins; any 2xx is a success. Its redirects are not followed. It
        /// fails with ``PulseCore/PulseError/responseTooLarge(limit:)`` if the response body is over 1 MiB.
        ///
        /// It is sent like a ready request of the client, and inherits nothing from the call. Its own headers are sent
        /// unchanged, to any origin. It gets the configuration's default headers, the secret ones at home origins only,
        /// and the cookies for its URL unless it has a `Cookie`. Its events have its own method, path and host, and the
        /// host as their route.
        ///
        /// - Parameter name: the request's method and URL by default.
        public static func request(_ request: URLRequest, named name: String? = nil) -> Recovery {
            Recovery(
                name: name ?? "\(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "")",
                work: .request(request))
        }

        /// Runs a closure. Calls that it makes through a client with the same plugin pass that plugin unchanged: they
        /// do not wait for the work that they are part of.
        public static func task(_ name: String, _ work: @escaping @Sendable () async throws -> Void) -> Recovery {
            Recovery(name: name, work: .task(work))
        }
    }
}
