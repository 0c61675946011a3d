// SPDX-License-Identifier: MIT

import PulseCore

/// Decides which requests may carry credentials: the rules that all forms of authentication share.
struct CredentialGate: Sendable {
    private let hasWarned = Locked(false)

    /// False for a request that passes untouched. Credentials go home only: a call elsewhere that requires them throws
    /// ``PulseError/invalidRequest(reason:)``.
    func admits(_ request: URLRequest, for context: PluginContext) throws -> Bool {
        if let url = request.url, context.isTrusted(url) { return true }
        guard context.options.auth != .required else {
            throw PulseError.invalidRequest(
                reason: "the call requires authentication, and its URL is not of the client's home origins")
        }
        if context.call.environment.home.isEmpty, context.options.auth != .anonymous { warn(in: context) }
        return false
    }

    /// Notes that a required authentication is seen to, though the wire may find no credential that it knows.
    func noteHandled(in context: PluginContext) {
        if context.call.options.auth == .required { context.store[AuthIsHandled.self] = true }
    }

    /// Whether it is a 401 to the credentials that the call does not accept and the client will not follow.
    func isRefusal(_ response: PulseResponse, in context: PluginContext) -> Bool {
        response.statusCode == 401
            && !(context.options.acceptedStatuses ?? .successful).contains(response.statusCode)
            && !context.willFollow(response)
    }

    /// Warns once, when somebody listens.
    private func warn(in context: PluginContext) {
        guard context.call.environment.events?.isActive == true else { return }
        let isFirst = hasWarned.withLock { hasWarned in
            defer { hasWarned = true }
            return !hasWarned
        }
        guard isFirst else { return }
        context.emit(
            .warning(
                "the client has neither a base URL nor trusted origins, so its authentication adds nothing to any call")
        )
    }
}

extension URLRequest {
    /// Whether the endpoint, or a plugin further out, has set the header itself.
    func carries(_ name: String) -> Bool {
        header(name) != nil
    }
}
