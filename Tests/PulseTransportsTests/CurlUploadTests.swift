// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled, .timeLimit(.minutes(15)))
struct CurlUploadTests {
    private func moves(_ counts: [Int64], of length: Int64) -> [Bool] {
        var upload = CurlUpload()
        return counts.map { upload.moves(to: $0, of: length) }
    }

    /// Otherwise the idle timeout of each request with a small body would start at the first check, and expire twice as
    /// late.
    @Test func aBodySentWithItsRequestIsNoActivity() {
        #expect(moves([100, 100], of: 100) == [false, false])
    }

    @Test func aProgressingUploadIsActivity() {
        #expect(moves([0, 60, 60, 100, 100], of: 100) == [false, true, false, true, false])
    }

    @Test func everyByteOfABodyOfUnknownLengthIsActivity() {
        #expect(moves([60, 60, 61], of: .max) == [true, false, true])
    }

    @Test func aBodyIsReadInPiecesAndOnceMoreFromItsStart() throws {
        let body = CurlRequest.Body.bytes(Data("abcde".utf8).dropFirst())
        var upload = CurlUpload()
        func read(now: TimeInterval) throws -> String {
            try withUnsafeTemporaryAllocation(byteCount: 3, alignment: 1) { buffer in
                let count = try upload.fill(buffer, from: body, now: now) { _ in }
                return String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self)
            }
        }
        #expect(try read(now: 1) == "bcd" && upload.endedAt == nil)
        #expect(try read(now: 2) == "e" && upload.endedAt == 2)
        #expect(upload.seek(to: 0, in: body) && !upload.seek(to: 5, in: body))
        #expect(try read(now: 3) == "bcd")
    }

    /// With a byte more than declared libcurl would never end.
    @Test func discardedBytesEndAtTheDeclaredLength() throws {
        let body = CurlRequest.Body.bytes(Data("abcdefgh".utf8))
        var upload = CurlUpload()
        withUnsafeTemporaryAllocation(byteCount: 3, alignment: 1) { buffer in
            #expect((try? upload.fill(buffer, from: body, now: 1) { _ in }) == 3)
            let counts = (0..<4).map { _ in upload.fillDiscarded(buffer, of: 8) }
            #expect(counts == [3, 2, 0, 0])
            #expect(upload.fillDiscarded(buffer, of: .max) == 0)
        }
    }

    @Test func aPipeIsWaitedForAndItsFailureThrown() throws {
        let pipe = BytePipe(wake: {})
        let body = CurlRequest.Body.pipe(pipe, length: nil)
        var upload = CurlUpload()
        func read() throws -> Int {
            try withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { buffer in
                try upload.fill(buffer, from: body, now: 1) { _ in }
            }
        }
        #expect(try read() == Int(PULSE_CURL_READFUNC_PAUSE))
        #expect(upload.isPaused)
        pipe.finish(CancellationError())
        #expect(throws: CancellationError.self) { try read() }
        #expect(upload.endedAt == nil)
    }

    @Test(
        arguments: [
            (PULSE_CURLE_SEND_FAIL_REWIND, "", true, false, .stale),
            (PULSE_CURLE_SEND_FAIL_REWIND, "", true, true, .refused),
            (PULSE_CURLE_SEND_FAIL_REWIND, "refused by server", true, true, .refused),
            (PULSE_CURLE_SEND_FAIL_REWIND, "connection closed", true, true, .stale),
            (PULSE_CURLE_SEND_FAIL_REWIND, "", false, true, .refused),
            (PULSE_CURLE_SEND_FAIL_REWIND, "other", false, true, .downgraded),
            (PULSE_CURLE_HTTP2_STREAM, "HTTP_1_1_REQUIRED", false, true, .downgraded),
            (PULSE_CURLE_HTTP2_STREAM, "REFUSED_STREAM", false, true, .refused),
            (PULSE_CURLE_HTTP2_STREAM, "before end of the underlying stream", true, true, .stale),
            (PULSE_CURLE_HTTP2_STREAM, "before end of the underlying stream", false, true, .other),
            (PULSE_CURLE_HTTP2, "", false, true, .refused),
            (PULSE_CURLE_HTTP2, "error", false, true, .other),
            (PULSE_CURLE_GOT_NOTHING, "", true, false, .stale),
            (PULSE_CURLE_GOT_NOTHING, "", false, false, .other),
        ] as [(Int, String, Bool, Bool, CurlUpload.Loss)])
    func aLossIsInterpreted(result: Int, text: String, isReused: Bool, isMultiplexed: Bool, loss: CurlUpload.Loss) {
        var upload = CurlUpload()
        (upload.isReused, upload.isMultiplexed) = (isReused, isMultiplexed)
        #expect(upload.loss(Int32(result), text) == loss)
        upload.isRefused = true
        #expect(upload.loss(Int32(result), text) == .refused)
    }

    /// From 8.19 on an empty text says nothing: a POST that was read must not count as refused.
    @Test(
        arguments: [
            (PULSE_CURLE_SEND_FAIL_REWIND, "", true, .stale), (PULSE_CURLE_SEND_FAIL_REWIND, "", false, .other),
            (PULSE_CURLE_HTTP2, "", true, .stale), (PULSE_CURLE_HTTP2, "", false, .other),
            (PULSE_CURLE_HTTP2, "nghttp2 shuts down connection with error 1", true, .other),
        ] as [(Int, String, Bool, CurlUpload.Loss)])
    func theLogTellsRefusalsFromLosses(result: Int, text: String, isReused: Bool, loss: CurlUpload.Loss) {
        var upload = CurlUpload()
        (upload.isReused, upload.isMultiplexed) = (isReused, true)
        #expect(upload.loss(Int32(result), text, isLogged: true) == loss)
        upload.note("HTTP/2 stream 3 reset by server (error 0x2 INTERNAL_ERROR)")
        #expect(upload.loss(Int32(result), text, isLogged: true) == loss)
        upload.note("HTTP/2 stream 3 reset by server (error 0xd HTTP_1_1_REQUIRED)")
        #expect(upload.loss(Int32(result), text, isLogged: true) == .downgraded)
        upload.note("HTTP/2 stream 3 refused by server, try again on a new connection")
        #expect(upload.loss(Int32(result), text, isLogged: true) == .refused)
    }
}
#endif
