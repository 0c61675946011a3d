// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins

/// A session in memory. A test may delay or fail every refresh.
final class FakeSession: TokenProvider {
    struct State {
        var token: String?
        var account: String?
        var expiry: Date?
        var refreshes = 0
        var endings = 0
        var refresh: @Sendable (FakeSession) async throws -> String
        var ending: @Sendable () async -> Void = {}
        /// Runs between two reads of the account.
        var onToken: @Sendable (FakeSession) -> Void = { _ in }
    }

    let state: Locked<State>

    /// - Parameter refresh: takes the next token by default: `t2` after `t1`.
    init(
        _ token: String? = "t1", account: String? = nil, expiry: Date? = nil,
        refresh: @escaping @Sendable (FakeSession) async throws -> String = { $0.takeNextToken() }
    ) {
        state = Locked(State(token: token, account: account, expiry: expiry, refresh: refresh))
    }

    var refreshes: Int { state.withLock { $0.refreshes } }
    var endings: Int { state.withLock { $0.endings } }
    var token: String? { state.withLock { $0.token } }

    func set<Value>(_ path: WritableKeyPath<State, Value> & Sendable, _ value: Value) where Value: Sendable {
        state.withLock { $0[keyPath: path] = value }
    }

    @discardableResult
    func takeNextToken() -> String {
        state.withLock { state in
            let number = Int(state.token?.dropFirst() ?? "0") ?? 0
            let token = "t\(number + 1)"
            state.token = token
            return token
        }
    }

    func accessToken() async -> String? {
        state.withLock { $0.onToken }(self)
        return token
    }

    func refreshToken() async throws -> String {
        let refresh = state.withLock { state in
            state.refreshes += 1
            return state.refresh
        }
        return try await refresh(self)
    }

    func handleAuthenticationFailure() async {
        let ending = state.withLock { state in
            state.endings += 1
            return state.ending
        }
        await ending()
    }

    var accountID: String? {
        get async { state.withLock { $0.account } }
    }

    var tokenExpiry: Date? {
        get async { state.withLock { $0.expiry } }
    }
}
