// SPDX-License-Identifier: MIT

public import PulseCore

/// A connection without a peer, which counts how often it is closed.
public final class CountedConnection: DuplexConnection {
    private let closes = Locked(0)

    public init() {}

    public var closeCount: Int { closes.withLock { $0 } }

    public var remoteAddress: String? { nil }

    public func read() async throws -> Data? { nil }

    public func write(_ bytes: Data) async throws {}

    public func finishWriting() {}

    public func close() {
        closes.withLock { $0 += 1 }
    }
}
