// SPDX-License-Identifier: MIT

#if canImport(Security)
import PulseStorage

extension TokenStore {
    /// Keeps the tokens in the keychain, readable after the first unlock since boot. This has not run on Apple
    /// hardware. See ``KeychainSecretStore/init(service:accessGroup:isForThisDeviceOnly:)`` and
    /// ``TokenStore/init(account:in:refresh:onSessionEnd:)``.
    public convenience init(
        account: String, service: String, accessGroup: String? = nil,
        refresh: @escaping @Sendable (_ refreshToken: String) async throws -> Tokens,
        onSessionEnd: @escaping @Sendable () async -> Void = {}
    ) {
        self.init(
            account: account, in: KeychainSecretStore(service: service, accessGroup: accessGroup), refresh: refresh,
            onSessionEnd: onSessionEnd)
    }
}
#endif
