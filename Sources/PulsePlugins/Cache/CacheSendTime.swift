// SPDX-License-Identifier: MIT

import PulseCore

/// When the request last went to the wire, by the wall clock: set where that happens, read where the answer arrives,
/// perhaps in another call.
enum CacheSendTime: ContextKey {
    typealias Value = Locked<Date>
}
