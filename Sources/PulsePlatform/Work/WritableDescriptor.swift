// SPDX-License-Identifier: MIT

#if !canImport(os)
import PulseCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A descriptor that can be written to without waiting, and without a signal if its reader is gone.
struct WritableDescriptor {
    /// The number of bytes that a pipe with any room accepts without waiting: `PIPE_BUF`.
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

    /// Writes the bytes from `start` on. Returns the index after the last byte written, or the end if the rest is lost.
    ///
    /// - Parameter waits: whether to wait for room. Otherwise, writing stops when there is none.
    func write(_ bytes: [UInt8], from start: Int, waits: Bool) -> Int {
        // poll would wait forever for an invalid descriptor.
        guard descriptor >= 0 else { return bytes.count }
        let signals = BrokenPipeSignal()
        defer { signals.restore() }
        var position = start
        while position < bytes.count {
            var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&room, 1, waits ? -1 : 0)
            if ready == 0 { return position }
            if ready < 0, errno == EINTR { continue }
            let size = min(Self.pieceSize, bytes.count - position)
            let written = bytes.withUnsafeBytes { Self.write(descriptor, $0.baseAddress.map { $0 + position }, size) }
            if written >= 0 {
                position += written
            } else if errno == EAGAIN, !waits {
                return position
            } else if errno != EINTR, errno != EAGAIN {
                return bytes.count
            }
        }
        return position
    }
}

/// Blocks `SIGPIPE` for this thread while it writes. The signal's disposition belongs to the application.
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
        // Consume a signal from this write. A signal that was pending before is not ours.
        if !wasPending { while sigtimedwait(&signal, nil, &now) == -1, errno == EINTR {} }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
#endif
