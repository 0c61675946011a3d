// SPDX-License-Identifier: MIT

#if !canImport(os)
import PulseCore
import TestSupport
import Testing

import PulsePlatform

@Suite(.tags(.threads, .addresses), .throttled)
struct LogWriterStressTests {
    /// The text read from a pipe until it is closed, on a thread of its own.
    private static func reading(_ pipe: Pipe) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            let data = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
            continuation.yield(String(decoding: data, as: UTF8.self))
            continuation.finish()
        }
        return stream
    }

    private static func text(of stream: AsyncStream<String>) async -> String {
        var all = ""
        for await text in stream { all += text }
        return all
    }

    @Test func blocksOfConcurrentCallsDoNotInterleave() async throws {
        let pipe = Pipe()
        let writer = LogWriter(pipe.fileHandleForWriting.fileDescriptor, limit: 1 << 24)
        let stream = Self.reading(pipe)
        // Longer than what a pipe accepts at once.
        let blocks = (0..<24).map { index in
            (0..<2000).map { "[\(index)] line \($0) of a block" }.joined(separator: "\n")
        }
        await withTaskGroup(of: Void.self) { group in
            for block in blocks { group.addTask { writer.write(block) } }
        }
        await writer.flush()
        try pipe.fileHandleForWriting.close()
        let text = await Self.text(of: stream)
        #expect(text.utf8.count == blocks.reduce(0) { $0 + $1.utf8.count + 1 })
        for block in blocks { #expect(text.contains(block)) }
    }

    @Test func aSlowReaderBlocksNoWriterAndSeesHowMuchWasDropped() async throws {
        let pipe = Pipe()
        let writer = LogWriter(pipe.fileHandleForWriting.fileDescriptor, limit: 10_000)
        // Without a reader, a pipe accepts some 64 KiB.
        let line = String(repeating: "x", count: 999)
        for number in 0..<500 { writer.write("\(number) \(line)") }
        let stream = Self.reading(pipe)
        await writer.flush()
        writer.write("last")
        await writer.flush()
        try pipe.fileHandleForWriting.close()
        let lines = await Self.text(of: stream).split(separator: "\n")
        // The writer's thread may drain the backlog at any moment: each gap has a notice.
        var (next, dropped) = (0, 0)
        for line in lines.dropLast() {
            let words = line.split(separator: " ")
            if words.first == "[PulseKit]" {
                let count = words.dropFirst().first.flatMap { Int($0) } ?? 0
                #expect(line.hasSuffix("of the log dropped: its reader is too slow"))
                (next, dropped) = (next + count, dropped + count)
            } else {
                #expect(words.first.flatMap { Int($0) } == next)
                next += 1
            }
        }
        #expect(next == 500)
        #expect(dropped > 0)
        #expect(lines.last == "last")
    }

    @Test func aBlockThatFitsIsWrittenWhenTheCallReturns() throws {
        let pipe = Pipe()
        let writer = LogWriter(pipe.fileHandleForWriting.fileDescriptor)
        var readable = pollfd(fd: pipe.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        writer.write("one")
        #expect(poll(&readable, 1, 0) == 1)
        writer.write("two")
        #expect(pipe.fileHandleForReading.availableData == Data("one\ntwo\n".utf8))
    }

    @Test(arguments: [false, true])
    func aClosedReaderDoesNotEndTheProcess(isFull: Bool) async throws {
        let pipe = Pipe()
        let writer = LogWriter(pipe.fileHandleForWriting.fileDescriptor)
        if isFull { writer.write(String(repeating: "x", count: 200_000)) }
        // From here on a write raises SIGPIPE, which would end this process.
        try pipe.fileHandleForReading.close()
        writer.write("lost")
        await writer.flush()
        writer.write("lost")
        var pending = sigset_t()
        sigpending(&pending)
        #expect(sigismember(&pending, SIGPIPE) == 0)
        try pipe.fileHandleForWriting.close()
    }

    @Test(arguments: [-1, .max] as [Int32])
    func anInvalidDescriptorDropsWhatIsWritten(descriptor: Int32) async {
        let writer = LogWriter(descriptor)
        writer.write("lost")
        await writer.flush()
    }
}
#endif
