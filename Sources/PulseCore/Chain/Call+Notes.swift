// SPDX-License-Identifier: MIT

extension Call {
    /// A fact about a running call that other calls may need to know: see ``record(_:)``.
    package enum Note: Sendable {
        /// One more request may have reached a server, in whole or in part.
        case sent
        /// A request that was counted as sent was not sent: it failed first, or waits on the client's side.
        case unsent
        /// The request as it goes to the wire. A cache uses it to match the response to its request.
        case request(URLRequest)
        /// A server has responded with that status.
        case responded(status: Int)
        /// The latest failure in the retry loop; nil once the loop has overcome it. An exceeded deadline names it as
        /// its cause.
        case failure(PulseError?)
        /// Whether the call fails because of work that it waited for, such as a token refresh. Such a failure says
        /// nothing about the call's own request or its server.
        case failsForOtherWork(Bool)
        /// A secret header. A signature is valid for one request only.
        case secret(header: String, isSignature: Bool)
    }

    /// The requests of a call that were sent, and whether a server has responded.
    struct SendLog: Sendable {
        /// The number of requests that may have reached a server, including those of calls detached from this call.
        private(set) var count = 0
        /// The number of the call's own requests that reached the wire.
        private(set) var attempts = 0
        /// The last request, sent by the call itself or by shared work.
        private(set) var request: URLRequest?
        /// The status of the last response.
        private(set) var status: Int?

        mutating func noteSent() { count += 1 }
        mutating func noteUnsent() { count = max(0, count - 1) }
        mutating func note(_ request: URLRequest) { self.request = request }

        /// Counts one more request on the wire, and returns its number, counted from 1.
        mutating func nextAttempt() -> Int {
            count += 1
            attempts += 1
            return attempts
        }

        mutating func noteResponse(_ status: Int) { self.status = status }
    }

    /// The headers that plugins have marked as secret, by lower-case names.
    struct MarkedSecrets: Sendable {
        private(set) var names: Set<String> = []
        /// The secrets that are valid for one request only, and so do not identify users.
        private var signatures: Set<String> = []

        mutating func insert(_ header: String, isSignature: Bool) {
            let name = header.asciiLowercased
            names.insert(name)
            if isSignature { signatures.insert(name) }
        }

        func isSignature(_ header: String) -> Bool { signatures.contains(header.asciiLowercased) }
    }

    /// The plugins whose `didComplete` will run, in order of their first entry, each with the last context that it
    /// received.
    struct EnteredPlugins: Sendable {
        private var plugins: [(index: Int, context: PluginContext)] = []
        private(set) var isComplete = false

        /// Records an entered plugin. Returns false once the call is complete: the plugin's `didComplete` would never
        /// run, and its context would keep the call alive.
        mutating func enter(_ index: Int, with context: PluginContext) -> Bool {
            guard !isComplete else { return false }
            if let known = plugins.firstIndex(where: { $0.index == index }) {
                plugins[known].context = context
            } else {
                plugins.append((index, context))
            }
            return true
        }

        /// Completes the call, and returns its plugins, once.
        mutating func complete() -> [(index: Int, context: PluginContext)] {
            isComplete = true
            defer { plugins = [] }
            return plugins
        }
    }
}

extension Call {
    /// Records a note in this call and in the other calls that it concerns. These are the call that this call was
    /// detached from or is made for, and the calls that wait for this work.
    ///
    /// | Note | Origin | Origin of a request that a plugin makes | Waiting calls |
    /// |---|---|---|---|
    /// | `sent`, `unsent` | yes | yes | no: the origin is one of them |
    /// | `request`, `responded`, `failsForOtherWork` | yes | no | yes |
    /// | `failure` | no | no | calls whose deadline ends the wait |
    /// | `secret` | no | no | yes |
    package func record(_ note: Note) {
        // A 307 or 308 only names another URL: the server has done no work yet.
        if case .responded(status: 307) = note { return }
        if case .responded(status: 308) = note { return }
        // The replaced value is released outside the lock.
        let replaced = state.withLock { state -> (any Sendable)? in
            switch note {
            case .sent: state.sends.noteSent()
            case .unsent: state.sends.noteUnsent()
            case .request(let request):
                defer { state.sends.note(request) }
                return state.sends.request
            case .responded(let status): if isQueueable { state.sends.noteResponse(status) }
            case .failure(let failure):
                defer { state.lastFailure = failure }
                return state.lastFailure
            case .failsForOtherWork(let isSo): state.failsForOtherWork = isSo
            case .secret(let header, let isSignature): state.secrets.insert(header, isSignature: isSignature)
            }
            return nil
        }
        withExtendedLifetime(replaced) {}
        switch note {
        case .sent, .unsent:
            origin?.record(note)
        case .request, .responded, .failsForOtherWork:
            if !isForAnotherRequest { origin?.record(note) }
            waiting?.record(note)
        case .failure, .secret:
            waiting?.record(note)
        }
    }

    /// Counts one more request on the wire and returns its number, counted from 1.
    func nextWireAttempt() -> Int {
        origin?.record(.sent)
        let (number, failedForOtherWork) = state.withLock { ($0.sends.nextAttempt(), $0.failsForOtherWork) }
        // From here on, a failure of the call is its own.
        if failedForOtherWork { record(.failsForOtherWork(false)) }
        return number
    }

    /// Counts one more transfer of the call's body and returns its number, counted from 1.
    package func nextTransfer() -> Int {
        state.withLock { state in
            state.transfers += 1
            return state.transfers
        }
    }

    /// The meter for all bodies of the call, in place of one meter per request; nil for most calls. Detached work and a
    /// plugin's own requests do not have it.
    package var bodyMeter: (any BodyMeter)? {
        get { state.withLock { $0.bodyMeter } }
        set { state.withLock { $0.bodyMeter = newValue } }
    }

    /// The number of bytes that the call has stored in a file; nil if it stores none.
    package var storedByteCount: Int? {
        get { state.withLock { $0.storedByteCount } }
        set { state.withLock { $0.storedByteCount = newValue } }
    }

    var wireAttempts: Int {
        state.withLock { $0.sends.attempts }
    }

    /// The number of requests that may have reached a server, as far as the client knows.
    package var sentCount: Int {
        state.withLock { $0.sends.count }
    }

    /// The last request that was sent for this call, by the call itself or by shared work; nil if there was none.
    package var sent: URLRequest? {
        state.withLock { $0.sends.request }
    }

    /// The status of the last response to a call that may be queued; nil without one. Queueing a call with a response
    /// would do its work twice.
    package var lastStatus: Int? {
        state.withLock { $0.sends.status }
    }

    /// The last failure that the retry loop saw.
    package var lastFailure: PulseError? {
        state.withLock { $0.lastFailure }
    }

    /// Whether the call fails because of other work, see ``Note/failsForOtherWork(_:)``.
    package var failsForOtherWork: Bool {
        state.withLock { $0.failsForOtherWork }
    }
}
