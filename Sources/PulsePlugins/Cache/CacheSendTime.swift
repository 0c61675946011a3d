// SPDX-License-Identifier: MIT

import PulseCore

/// When the request last went to the wire, by the wall clock: set where that happens, read where the answer arrives,
/// perhaps in another call.
enum CacheSendTime: ContextKey {
    typealias Value = Locked<Sending>

    struct Sending: Sendable {
        private(set) var time: Date
        /// Nil before the first that goes to the wire.
        private var attempt: Int?

        init(_ time: Date) {
            self.time = time
        }

        /// Of the copies of one attempt the first counts: nobody knows which of them is answered.
        mutating func note(attempt: Int, at time: Date) {
            guard self.attempt != attempt else { return }
            (self.attempt, self.time) = (attempt, time)
        }
    }
}
