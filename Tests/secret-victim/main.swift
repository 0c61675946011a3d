// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

// Stores a secret, and kills itself within a system call that may change the disk, see `FileSecretStoreKillTests`.
//
// Usage: secret-victim DIRECTORY CALL      kills itself before the system call of that number
//        secret-victim DIRECTORY 0 COUNT   stores COUNT secrets
//
// The output is the number of system calls.

let arguments = CommandLine.arguments
guard arguments.count >= 3, let last = Int(arguments[2]) else { exit(64) }
let calls = Locked(0)

@Sendable func pass() {
    let number = calls.withLock { calls in
        calls += 1
        return calls
    }
    if number == last { kill(getpid(), SIGKILL) }
}

let disk = Disk(
    write: { descriptor, bytes, offset in
        pass()
        // In parts, so that the process also ends between two.
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(16))
        return Disk.system.write(descriptor, part, offset)
    },
    sync: { descriptor in
        pass()
        return Disk.system.sync(descriptor)
    },
    rename: { from, to in
        pass()
        return Disk.system.rename(from, to)
    },
    open: { path, flags in
        pass()
        return systemOpen(path, flags)
    },
    makeDirectory: { path in
        pass()
        return systemMakeDirectory(path)
    })
let store = FileSecretStore(directory: URL(fileURLWithPath: arguments[1]), disk: disk)
let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 1
for number in 0..<count {
    let digit = UInt8(ascii: "0") + UInt8(number % 10)
    try store.setSecret(Data(repeating: digit, count: 40 + 10 * (number % 10)), for: "session")
}
print(calls.withLock { $0 })
