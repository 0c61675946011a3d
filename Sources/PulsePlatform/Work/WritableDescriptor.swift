// SPDX-License-Identifier: MIT

#if !canImport(os)
import PulseCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A descriptor that can be written to without waiting, and without a signal if nobody reads it.
struct WritableDescriptor {
    /// The bytes that a pipe with any room takes without waiting: `PIPE_BUF`.
    private static let pieceSize = 4096

    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    private static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.write(descriptor, bytes, count)
        #elseif canImport(Musl)
        Musl.write(descriptor, bytes, count)
        #endif
    }

    /// Writes the bytes from a place on, and returns the place up to which it came; the end, too, if the rest is lost.
    ///
    /// - Parameter waits: whether it waits for room; else it stops where there is none.
    func write(_ bytes: [UInt8], from start: Int, waits: Bool) -> Int {
        // The system would wait for an invalid descriptor.
        guard descriptor >= 0 else { return bytes.count }
        let signals = BrokenPipeSignal()
        defer { signals.restore() }
        var place = start
        while place < bytes.count {
            var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&room, 1, waits ? -1 : 0)
            if ready == 0 { return place }
            if ready < 0, errno == EINTR { continue }
            let size = min(Self.pieceSize, bytes.count - place)
            let written = bytes.withUnsafeBytes { Self.write(descriptor, $0.baseAddress.map { $0 + place }, size) }
            if written >= 0 {
                place += written
            } else if errno == EAGAIN, !waits {
                return place
            } else if errno != EINTR, errno != EAGAIN {
                return bytes.count
            }
        }
        return place
    }
}

/// Holds `SIGPIPE` back from this thread while it writes. The disposition of the process is the application's.
private struct BrokenPipeSignal {
    private var before = sigset_t()
    private var signal = sigset_t()
    private let wasPending: Bool

    init() {
        sigemptyset(&signal)
        sigaddset(&signal, SIGPIPE)
        var pending = sigset_t()
        sigpending(&pending)
        wasPending = sigismember(&pending, SIGPIPE) == 1
        pthread_sigmask(SIG_BLOCK, &signal, &before)
    }

    func restore() {
        var (before, signal, now) = (before, signal, timespec())
        // One that came with this write is taken back; one from before is somebody else's.
        if !wasPending { while sigtimedwait(&signal, nil, &now) == -1, errno == EINTR {} }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
#endif
