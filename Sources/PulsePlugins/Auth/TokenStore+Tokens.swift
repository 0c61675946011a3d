// SPDX-License-Identifier: MIT

public import PulseCore

extension TokenStore {
    /// The tokens of a session, as a login or a refresh returns them. No description shows them.
    public struct Tokens: Sendable, Hashable {
        /// The token that calls send.
        public var accessToken: String
        /// Nil if the session cannot be refreshed. In the result of a refresh, nil means that the earlier refresh token
        /// stays valid (RFC 6749, section 6).
        public var refreshToken: String?
        /// When the access token expires. Nil if that is unknown: then the server decides.
        public var expiry: Date?
        /// A stable identifier of the account, see ``TokenProvider/accountID``. In the result of a refresh, nil means
        /// that the account is unchanged.
        public var accountID: String?

        /// Creates the tokens of a session. Only the access token is required.
        public init(accessToken: String, refreshToken: String? = nil, expiry: Date? = nil, accountID: String? = nil) {
            self.accessToken = accessToken
            self.refreshToken = refreshToken
            self.expiry = expiry
            self.accountID = accountID
        }
    }
}

extension TokenStore.Tokens {
    /// The tokens of the session after a refresh.
    func refreshed(to new: TokenStore.Tokens) -> TokenStore.Tokens {
        var new = new
        new.refreshToken = new.refreshToken ?? refreshToken
        new.accountID = new.accountID ?? accountID
        return new
    }

    /// The stored form.
    private struct Record: Codable {
        var version = 1
        var access: String
        var refresh: String?
        /// Seconds since 1970.
        var expiry: Double?
        var account: String?
    }

    /// The encoded tokens; equal for equal tokens.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // An infinite expiry means that the token never expires.
        let seconds = expiry.map(\.timeIntervalSince1970).flatMap { $0.isFinite ? $0 : nil }
        return try encoder.encode(
            Record(access: accessToken, refresh: refreshToken, expiry: seconds, account: accountID))
    }

    /// Nil for data of another kind or a later version.
    init?(encoded data: Data) {
        guard let record = try? JSONDecoder().decode(Record.self, from: data), record.version == 1 else { return nil }
        self.init(
            accessToken: record.access, refreshToken: record.refresh,
            expiry: record.expiry.map { Date(timeIntervalSince1970: $0) }, accountID: record.account)
    }
}

extension TokenStore.Tokens: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The expiry only.
    public var description: String { "TokenStore.Tokens(expiry: \(expiry.map { "\($0)" } ?? "unknown"))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["expiry": expiry as Any]) }
}
