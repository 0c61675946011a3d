// SPDX-License-Identifier: MIT

public import Foundation

#if !canImport(UIKit)
extension Process {
    /// Runs it, one at a time in this process: Foundation has crashed on Linux, seldom, where several began at once.
    public func runAlone() throws {
        try Self.launches.withLock { try run() }
    }

    private static let launches = NSLock()
}
#endif
