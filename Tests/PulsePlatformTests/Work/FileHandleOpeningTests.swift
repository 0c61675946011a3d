// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import TestSupport
import Testing

@Suite(.throttled)
struct FileHandleOpeningTests {
    private let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    @Test func childProcessesDoNotInheritAFile() throws {
        try Data("old".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (reader, writer) = (try FileHandle.reading(file), try FileHandle.writing(file))
        for handle in [reader, writer] {
            #expect(fcntl(handle.fileDescriptor, F_GETFD) == FD_CLOEXEC)
        }
        try writer.write(contentsOf: Data("new".utf8))
        #expect(try reader.readToEnd() == Data("new".utf8))
        try writer.close()
        try reader.close()
    }

    @Test func aMissingFileFailsAsFoundationDoes() {
        let own = #expect(throws: (any Error).self) { try FileHandle.reading(file) }
        let expected = #expect(throws: (any Error).self) { try FileHandle(forReadingFrom: file) }
        let (one, other) = (own.map { $0 as NSError }, expected.map { $0 as NSError })
        #expect(one?.domain == other?.domain && one?.code == other?.code)
    }
}
