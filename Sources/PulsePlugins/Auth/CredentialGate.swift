// SPDX-License-Identifier: MIT

import PulseCore

/// Decides which requests may carry credentials: the rules common to all authentication plugins.
struct CredentialGate: Sendable {
    private let hasWarned = Locked(false)

    /// False for a request that passes unchanged. Credentials are sent to home origins only. A call to another origin
    /// that requires them throws ``PulseError/invalidRequest(reason:)``.
    func admits(_ request: URLRequest, for context: PluginContext) throws -> Bool {
        if let url = request.url, context.isTrusted(url) { return true }
        guard context.options.auth != .required else {
            throw PulseError.invalidRequest(
                reason: "the call requires authentication, and its URL is not of the client's home origins")
        }
        if context.call.environment.home.isEmpty, context.options.auth != .anonymous { warn(in: context) }
        return false
    }

    /// Records that required authentication is handled, since the transport may not recognize the credential.
    func noteHandled(in context: PluginContext) {
        if context.call.options.auth == .required { context.store[AuthIsHandled.self] = true }
    }

    /// Whether the response is a 401 that the call does not accept and the client will not follow.
    func isRefusal(_ response: PulseResponse, in context: PluginContext) -> Bool {
        response.statusCode == 401
            && !(context.options.acceptedStatuses ?? .successful).contains(response.statusCode)
            && !context.willFollow(response)
    }

    /// Warns once, if there is a listener.
    private func warn(in context: PluginContext) {
        guard context.call.environment.events?.isActive == true else { return }
        let isFirst = hasWarned.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        guard isFirst else { return }
        context.emit(
            .warning(
                "the client has neither a base URL nor trusted origins, so its authentication applies to no call")
        )
    }
}

extension URLRequest {
    /// Whether the endpoint or an outer plugin has set the header.
    func carries(_ name: String) -> Bool {
        header(name) != nil
    }
}
