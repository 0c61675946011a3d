// SPDX-License-Identifier: MIT

import Testing

/// Which checks run a suite once more, besides `swift test`; `Scripts/check` chooses suites by these tags.
extension Tag {
    /// Runs under the thread sanitizer: many tasks at a time, or sockets.
    @Tag public static var threads: Self
    /// Runs under the address sanitizer, which also finds leaks.
    @Tag public static var addresses: Self
    /// A random schedule, which runs in release with `PULSE_STEPS` steps.
    @Tag public static var schedule: Self
    /// A schedule that measures the memory of its process, in which nothing else may run.
    @Tag public static var alone: Self
}
