// SPDX-License-Identifier: MIT

import Testing

/// Tags of suites that run again in other checks besides `swift test`; `Scripts/check` selects suites by them.
extension Tag {
    /// Runs under the thread sanitizer: many concurrent tasks, or sockets.
    @Tag public static var threads: Self
    /// Runs under the address sanitizer, which also finds leaks.
    @Tag public static var addresses: Self
    /// A random schedule, or a cost, which runs in release with `PULSE_STEPS` steps.
    @Tag public static var schedule: Self
    /// A schedule that measures the memory of its process, so nothing else may run in it.
    @Tag public static var alone: Self
}
