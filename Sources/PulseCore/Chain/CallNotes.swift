// SPDX-License-Identifier: MIT

extension Call {
    /// A fact that the chain learns while a call runs, and that other calls may need to know: see ``record(_:)``.
    package enum Note: Sendable {
        /// A server may have seen something of one more request.
        case sent
        /// A request that was counted as sent was not sent: it failed before, or waits on the client's side.
        case unsent
        /// The request as it is sent to the wire. It tells a cache which request its response belongs to.
        case request(URLRequest)
        /// A server has responded with that status.
        case responded(status: Int)
        /// The retry loop saw that failure, or has overcome it (nil). An exceeded deadline names the failure as its
        /// cause.
        case failure(PulseError?)
        /// Whether the call fails because of other work that it waited for, such as a refresh of its token. Such a
        /// failure says nothing about the call's own request, nor about its server.
        case failsForOtherWork(Bool)
        /// A header is secret; a signature belongs to one request alone.
        case secret(header: String, isSignature: Bool)
    }

    /// The requests of a call that were sent, and whether a server has responded.
    struct SendLog: Sendable {
        /// The number of requests of which a server may have seen something, including those of calls detached from
        /// this call.
        private(set) var count = 0
        /// The number of the call's own requests that reached the wire.
        private(set) var attempts = 0
        /// The last request, sent by the call itself or by shared work.
        private(set) var request: URLRequest?
        private(set) var isResponded = false

        mutating func noteSent() { count += 1 }
        mutating func noteUnsent() { count = max(0, count - 1) }
        mutating func note(_ request: URLRequest) { self.request = request }

        /// Counts one more request on the wire, and returns its number, counted from 1.
        mutating func nextAttempt() -> Int {
            count += 1
            attempts += 1
            return attempts
        }

        mutating func noteResponse() { isResponded = true }
    }

    /// The headers that plugins have marked as secret, by lower-case names.
    struct MarkedSecrets: Sendable {
        private(set) var names: Set<String> = []
        /// The secrets that belong to one request alone, and so do not identify users.
        private var signatures: Set<String> = []

        mutating func insert(_ header: String, isSignature: Bool) {
            let name = header.asciiLowercased
            names.insert(name)
            if isSignature { signatures.insert(name) }
        }

        func isSignature(_ header: String) -> Bool { signatures.contains(header.asciiLowercased) }
    }

    /// The plugins whose `didComplete` is to run, in order of their first entry. Each has the context that it received
    /// last.
    struct EnteredPlugins: Sendable {
        private var plugins: [(index: Int, context: PluginContext)] = []
        private(set) var isComplete = false

        /// Returns false once the call is complete. The plugin's `didComplete` would never run, and its context would
        /// keep the call alive.
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
