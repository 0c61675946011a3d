// SPDX-License-Identifier: MIT

import PulseCore

/// When the request last went to the wire, by the wall clock: set where that happens, read where the answer arrives, perhaps
/// in another call.
final class CacheSendTime: ContextKey, Sendable {
    typealias Value = CacheSendTime

    private let time: Locked<Date>

    init(_ time: Date) {
        self.time = Locked(time)
    }

    var value: Date {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}
