// SPDX-License-Identifier: MIT

import PulseCore

extension Stub.Reply {
    /// The same reply with its body throttled to a rate in bytes per second of `clock`. A streamed call receives chunk
    /// by chunk, a buffered one everything at the end. A rate that is not positive and finite means no limit.
    public func bandwidth(_ bytesPerSecond: Double, on clock: any PulseClock = SystemClock()) -> Stub.Reply {
        guard bytesPerSecond > 0, bytesPerSecond < .infinity else { return self }
        return Stub.Reply { request, parameters in
            var response = try await respond(request, parameters)
            if let stream = response.bytes {
                response.body = .stream(stream.throttled(to: bytesPerSecond, on: clock))
            } else if !response.data.isEmpty {
                let pieces = ByteStream(response.data.pieces(tenthsOfASecondAt: bytesPerSecond))
                response.body = .stream(pieces.throttled(to: bytesPerSecond, on: clock))
            }
            return response
        }
    }
}

extension ByteStream {
    /// The same chunks, each delayed according to the rate.
    fileprivate func throttled(to bytesPerSecond: Double, on clock: any PulseClock) -> ByteStream {
        let iterator = Locked(makeAsyncIterator())
        let throttled = ByteStream {
            var source = iterator.withLock { $0 }
            guard let chunk = try await source.next() else { return nil }
            try await clock.sleep(Double(chunk.count) / bytesPerSecond, for: .delay)
            return chunk
        } cancel: {
            self.cancel()
        }
        throttled.trailersAtEnd = trailersAtEnd
        return throttled
    }
}

extension Data {
    /// The data in chunks of at least one byte, about ten per second at the given rate.
    fileprivate func pieces(tenthsOfASecondAt bytesPerSecond: Double) -> [Data] {
        let size = Int(Swift.max(1, Swift.min(bytesPerSecond / 10, 65536)))
        return stride(from: startIndex, to: endIndex, by: size).map { start in
            Data(self[start..<Swift.min(start + size, endIndex)])
        }
    }
}
