// SPDX-License-Identifier: MIT

import PulseCore

/// Decides which requests may carry credentials: the rules common to all authentication plugins.
struct CredentialGate: Sendable {
    /// Whether the request may carry credentials; if false, it passes unchanged. Credentials are sent to home origins
    /// only. A call to another origin that requires them throws ``PulseError/invalidRequest(reason:)``.
    func admits(_ request: URLRequest, for context: PluginContext) throws -> Bool {
        if let url = request.url, context.isTrusted(url) { return true }
        guard context.options.auth != .required else {
            throw PulseError.invalidRequest(
                reason: "the call requires authentication, and its URL is not of the client's home origins")
        }
        let environment = context.call.environment
        if environment.home.isEmpty, context.options.auth != .anonymous {
            environment.warnOnce(
                "the client has neither a base URL nor trusted origins, so its authentication applies to no call")
        }
        return false
    }

    /// Records that required authentication is handled, since the transport may not recognize the credential.
    func noteHandled(in context: PluginContext) {
        if context.call.options.auth == .required { context.store[HandledAuthKey.self] = true }
    }

    /// Whether the response is a 401 that the call does not accept and the client will not follow.
    func isRefusal(_ response: PulseResponse, in context: PluginContext) -> Bool {
        response.statusCode == 401
            && !(context.options.acceptedStatuses ?? .successful).contains(response.statusCode)
            && !context.willFollow(response)
    }
}

extension URLRequest {
    /// Whether the endpoint or an outer plugin has set the header.
    func carries(_ name: String) -> Bool {
        header(name) != nil
    }
}
