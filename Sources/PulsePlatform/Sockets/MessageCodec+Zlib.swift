// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

extension SystemMessageCodec {
    static let isAvailable = pulse_deflate_load()

    static func deflater(windowBits: Int) -> (any MessageCodec)? {
        isAvailable ? ZlibDeflater(windowBits: windowBits) : nil
    }

    static func inflater(windowBits: Int) -> (any MessageCodec)? {
        isAvailable ? ZlibInflater(windowBits: windowBits) : nil
    }
}

private final class ZlibDeflater: MessageCodec {
    private let stream: OpaquePointer

    init?(windowBits: Int) {
        guard let stream = pulse_deflate_new(CInt(windowBits)) else { return nil }
        self.stream = stream
    }

    deinit { pulse_deflate_free(stream) }

    func run(_ input: Data, room: Int, isLast: Bool) -> MessageCodecStep? {
        MessageCodecStep(input, room: room) { input, consumed, output, produced in
            let flush = isLast ? PULSE_DEFLATE_SYNC : PULSE_DEFLATE_NONE
            return pulse_deflate_run(stream, input, consumed, output, produced, flush)
        }
    }
}

private final class ZlibInflater: MessageCodec {
    private let stream: OpaquePointer

    init?(windowBits: Int) {
        guard let stream = pulse_inflate_new(CInt(windowBits)) else { return nil }
        self.stream = stream
    }

    deinit { pulse_inflate_free(stream) }

    func run(_ input: Data, room: Int, isLast: Bool) -> MessageCodecStep? {
        MessageCodecStep(input, room: room) { pulse_inflate_run(stream, $0, $1, $2, $3) }
    }
}

extension MessageCodecStep {
    fileprivate init?(
        _ input: Data, room: Int,
        _ run: (
            _ input: UnsafePointer<UInt8>?, _ consumed: UnsafeMutablePointer<Int>,
            _ output: UnsafeMutablePointer<UInt8>?, _ produced: UnsafeMutablePointer<Int>
        ) -> pulse_deflate_result
    ) {
        var (consumed, produced) = (input.count, room)
        // The output is copied: it is usually much smaller than the buffer.
        let (result, output) = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { room in
            let result = input.withUnsafeBytes {
                run($0.bindMemory(to: UInt8.self).baseAddress, &consumed, room.baseAddress, &produced)
            }
            return (result, Data(UnsafeBufferPointer(rebasing: room[..<produced])))
        }
        self.output = output
        self.consumed = consumed
        // Without progress the caller's loop would never end.
        guard result != PULSE_DEFLATE_FAILED, input.isEmpty || consumed > 0 || produced > 0 else { return nil }
        switch result {
        case PULSE_DEFLATE_FULL: end = .full
        case PULSE_DEFLATE_ENDED: end = .block
        default: end = .hungry
        }
    }
}
#endif
