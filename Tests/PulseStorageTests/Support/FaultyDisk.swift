// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A disk with planned failures.
final class FaultyDisk: Sendable {
    struct Plan: Sendable {
        /// The error of each write, sync, rename, open or mkdir; 0 for none.
        var write: Int32 = 0
        var open: Int32 = 0
        var makeDirectory: Int32 = 0
        var sync: Int32 = 0
        var rename: Int32 = 0
        /// The number of bytes that a failing write still writes.
        var partial = 0
        /// The largest write that succeeds.
        var room = Int.max
        var syncs = 0
    }

    let plan = Locked(Plan())

    var disk: Disk {
        Disk(
            write: { [plan] descriptor, bytes, offset in
                let (code, partial) = plan.withLock { plan -> (Int32, Int) in
                    defer { plan.partial = 0 }
                    return (plan.write != 0 ? plan.write : bytes.count > plan.room ? ENOSPC : 0, plan.partial)
                }
                guard code != 0 else { return Disk.system.write(descriptor, bytes, offset) }
                if partial > 0 {
                    let part = UnsafeRawBufferPointer(rebasing: bytes[..<min(partial, bytes.count)])
                    return Disk.system.write(descriptor, part, offset)
                }
                errno = code
                return -1
            },
            sync: { [plan] descriptor in
                let code = plan.withLock { plan in
                    plan.syncs += 1
                    return plan.sync
                }
                guard code != 0 else { return Disk.system.sync(descriptor) }
                errno = code
                return -1
            },
            rename: { [plan] from, to in
                let code = plan.withLock { $0.rename }
                guard code != 0 else { return Disk.system.rename(from, to) }
                errno = code
                return -1
            },
            open: { [plan] path, flags in
                let code = plan.withLock { $0.open }
                guard code != 0 else { return Disk.system.open(path, flags) }
                errno = code
                return -1
            },
            makeDirectory: { [plan] path in
                let code = plan.withLock { $0.makeDirectory }
                guard code != 0 else { return Disk.system.makeDirectory(path) }
                errno = code
                return -1
            },
            // Later appends run in place, and fail in the same way there. The first append of each log uses the log's
            // queue.
            inPlaceLimit: .infinity)
    }
}
