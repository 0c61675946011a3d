// SPDX-License-Identifier: MIT

import PulseCore

/// When the request was last sent, by the wall clock. It is set at the send and read when the response arrives, perhaps
/// in another call.
enum CacheSendTime: ContextKey {
    typealias Value = Locked<Sending>

    struct Sending: Sendable {
        private(set) var time: Date
        /// Nil before the first send.
        private var attempt: Int?

        init(_ time: Date) {
            self.time = time
        }

        /// Only the first copy of an attempt counts: it is unknown which copy gets the response.
        mutating func note(attempt: Int, at time: Date) {
            guard self.attempt != attempt else { return }
            (self.attempt, self.time) = (attempt, time)
        }
    }
}
