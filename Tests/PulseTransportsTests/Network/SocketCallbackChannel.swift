// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import Dispatch
import Foundation
import PulseCore

@testable import PulseTransports

/// A channel over a socket that behaves as `NWConnection` does: one queue for all callbacks, and a completion for every
/// call, after a failure and a cancellation, too.
final class SocketCallbackChannel: CallbackChannel {
    static let make: UpgradeConnector.ChannelMaker = { SocketCallbackChannel($0) }

    private let settings: ChannelSettings
    /// What the server's certificates are taken for where the transport checks them: the connection is in cleartext.
    private let chain: [Data]
    private let callbacks = DispatchQueue(label: "callbacks")
    private let reads = DispatchQueue(label: "reads")
    private let writes = DispatchQueue(label: "writes")
    private let descriptor: Int32
    private let isCancelled = Locked(false)

    /// - Parameter settings: with an address of IPv4.
    init(_ settings: ChannelSettings, chain: [Data] = []) {
        (self.settings, self.chain) = (settings, chain)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    }

    deinit {
        close(descriptor)
    }

    func start(_ report: @escaping @Sendable (CallbackChannelEvent) -> Void) {
        writes.async { [self] in
            let error = connect()
            let event: CallbackChannelEvent =
                error.map { .waiting(CallbackFailure(cause: .posix($0), underlying: POSIXError($0))) } ?? verified
            callbacks.async { report(event) }
        }
    }

    private var verified: CallbackChannelEvent {
        let refusal = Result { if settings.evaluatesTrust { try settings.check(chain) } }.failure
        guard let refusal else { return .ready(remoteAddress: settings.address.host) }
        // errSSLBadCert
        return .failure(CallbackFailure(cause: .tls(-9808)), isWaiting: true, refusal: refusal)
    }

    private func connect() -> POSIXErrorCode? {
        let address = settings.address
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = address.port.bigEndian
        target.sin_addr.s_addr = inet_addr(address.host)
        let result = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? nil : POSIXErrorCode(rawValue: errno) ?? .EINVAL
    }

    func receive(upTo limit: Int, _ completion: @escaping @Sendable (Data?, Bool, CallbackFailure?) -> Void) {
        reads.async { [self] in
            var bytes = Data(count: limit)
            let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, limit, 0) }
            let failure = failure(count)
            let received = count > 0 && failure == nil ? bytes.prefix(count) : nil
            callbacks.async { completion(received.map { Data($0) }, count <= 0, failure) }
        }
    }

    func send(_ bytes: Data, _ completion: @escaping @Sendable (CallbackFailure?) -> Void) {
        writes.async { [self] in
            var count = 1
            bytes.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty, count > 0 {
                    let piece = UnsafeRawBufferPointer(rebasing: rest)
                    count = Glibc.send(descriptor, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL))
                    rest = rest.dropFirst(max(0, count))
                }
            }
            let failure = failure(count)
            callbacks.async { completion(failure) }
        }
    }

    private func failure(_ count: Int) -> CallbackFailure? {
        let number = errno
        let isCancelled = isCancelled.withLock { $0 }
        guard count < 0 || isCancelled else { return nil }
        let code = isCancelled ? .ECANCELED : POSIXErrorCode(rawValue: number) ?? .EINVAL
        return CallbackFailure(cause: .posix(code), underlying: POSIXError(code))
    }

    func finish() {
        writes.async { [self] in shutdown(descriptor, Int32(SHUT_WR)) }
    }

    func cancel() {
        isCancelled.withLock { $0 = true }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
#endif
