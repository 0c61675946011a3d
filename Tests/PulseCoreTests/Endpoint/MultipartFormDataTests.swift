// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled)
struct MultipartFormDataTests {
    private typealias Part = MultipartFormData.Part

    private func text(_ parts: [Part], boundary: String = "b") throws -> String {
        let encoded = try MultipartFormData(parts: parts).encode(boundary: boundary)
        let data = try #require(encoded.data)
        #expect(Int64(data.count) == encoded.length)
        return String(decoding: data, as: UTF8.self)
    }

    private func withFile<Result>(_ content: Data, named name: String, _ body: (URL) throws -> Result) throws -> Result
    {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent(name)
        try content.write(to: file)
        return try body(file)
    }

    @Test
    func aClosureAppendsThePartsOfAForm() throws {
        let body = RequestBody.multipart { form in
            form.append("Ada", name: "title")
            form.append(Data([1]), name: "image", filename: "a.png")
            form.append(Data([2]), name: "raw", mimeType: "application/x")
            form.append(URL(fileURLWithPath: "/tmp/b.txt"), name: "file", filename: "c.txt")
            form.append("a,b", name: "table", filename: "d.csv", mimeType: "text/csv")
        }
        guard case .multipart(let form) = body.content else {
            Issue.record("the body is a form")
            return
        }
        #expect(form.parts.map(\.name) == ["title", "image", "raw", "file", "table"])
        #expect(form.parts.map(\.filename) == [nil, "a.png", nil, "c.txt", "d.csv"])
        #expect(form.parts.map(\.mimeType) == [nil, "image/png", "application/x", "text/plain", "text/csv"])
        guard case .data(let title) = form.parts[0].content else {
            Issue.record("the field is bytes")
            return
        }
        #expect(title == Data("Ada".utf8))
        struct Refused: Error {}
        #expect(throws: Refused.self) { try RequestBody.multipart { _ in throw Refused() } }
    }

    @Test
    func dataPartsBecomeOneBodyOfBytes() throws {
        let body = try text([
            Part(name: "field", data: Data("value".utf8)),
            Part(name: "file", data: Data("\r\n--b\u{0}".utf8), filename: "a.png"),
            Part(name: "json", data: Data("{}".utf8), mimeType: "application/json"),
        ])
        #expect(
            body == """
                --b\r\nContent-Disposition: form-data; name="field"\r\n\r\nvalue\r\n\
                --b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\
                \r\n--b\u{0}\r\n\
                --b\r\nContent-Disposition: form-data; name="json"\r\nContent-Type: application/json\r\n\r\n{}\r\n\
                --b--\r\n
                """)
    }

    @Test
    func aFormWithoutPartsHasOnlyTheClosingDelimiter() throws {
        #expect(try text([]) == "--b--\r\n")
    }

    @Test(arguments: [
        ("plain", "plain", "plain"),
        ("a\"b", "a%22b", "a%22b"),
        ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"),
        ("a\rb\nc", "a%0D%0Ab%0D%0Ac", "a%0Db%0Ac"),
        ("\n\r", "%0D%0A%0D%0A", "%0A%0D"),
        ("\r\r\n\n", "%0D%0A%0D%0A%0D%0A", "%0D%0D%0A%0A"),
        ("back\\slash%22;=", "back\\slash%22;=", "back\\slash%22;="),
        ("\u{E9}\u{1F600}", "\u{E9}\u{1F600}", "\u{E9}\u{1F600}"),
        ("\"; filename=\"x", "%22; filename=%22x", "%22; filename=%22x"),
        ("\u{301}\"\u{301}", "\u{301}%22\u{301}", "\u{301}%22\u{301}"),
        ("", "", ""),
    ])
    func namesAreEscapedAsInBrowsers(raw: String, name: String, filename: String) throws {
        let body = try text([Part(name: raw, data: Data(), filename: raw, mimeType: "a/b")])
        let head = "Content-Disposition: form-data; name=\"\(name)\"; filename=\"\(filename)\"\r\nContent-Type: a/b"
        #expect(body.unicodeScalars.elementsEqual("--b\r\n\(head)\r\n\r\n\r\n--b--\r\n".unicodeScalars))
    }

    @Test(arguments: ["text/plain\r\nX: y", "a\nb", "a\rb", "a\u{0}"])
    func aMediaTypeThatBreaksTheLineIsRefused(mimeType: String) {
        let form = MultipartFormData(parts: [Part(name: "a", data: Data(), mimeType: mimeType)])
        #expect(throws: PulseError.self) { try form.encode(boundary: "b") }
    }

    @Test
    func aNameWithNULIsRefused() {
        for part in [Part(name: "a\u{0}", data: Data()), Part(name: "a", data: Data(), filename: "\u{0}")] {
            #expect(throws: PulseError.self) { try MultipartFormData(parts: [part]).encode(boundary: "b") }
        }
    }

    @Test(arguments: ["", "a ", "a\tb", "a\r\nb", "a\"b", String(repeating: "x", count: 71), "\u{E9}"])
    func anInvalidBoundaryIsRefused(boundary: String) {
        #expect(throws: PulseError.self) { try MultipartFormData(parts: []).encode(boundary: boundary) }
    }

    /// RFC 2046, section 5.1.1; the first is its example.
    @Test(arguments: ["gc0pJq0M:08jU534c0p", "a b", "'()+_,-./:=?"])
    func aBoundaryOfTheCallersMayHaveAllCharactersOfTheRFC(boundary: String) throws {
        #expect(try text([], boundary: boundary) == "--\(boundary)--\r\n")
        let declared = "multipart/form-data; boundary=\"\(boundary)\""
        #expect(MultipartFormData.boundary(in: declared) == boundary)
    }

    @Test
    func encodingAFileTakesItsLengthWithoutReadingIt() throws {
        try withFile(Data(repeating: 7, count: 1_000), named: "photo.JPG") { file in
            let form = MultipartFormData(parts: [
                Part(name: "a", data: Data("x".utf8)), Part(name: "f", file: file),
                Part(name: "g", file: file, filename: "other", mimeType: "a/b"),
            ])
            let encoded = try form.encode(boundary: "b")
            let head = "--b\r\nContent-Disposition: form-data; name="
            let first = """
                \(head)"a"\r\n\r\nx\r\n\
                \(head)"f"; filename="photo.JPG"\r\nContent-Type: image/jpeg\r\n\r\n
                """
            let second = "\r\n\(head)\"g\"; filename=\"other\"\r\nContent-Type: a/b\r\n\r\n"
            let expected: [MultipartFormData.Segment] = [
                .bytes(Data(first.utf8)), .file(file, length: 1_000), .bytes(Data(second.utf8)),
                .file(file, length: 1_000), .bytes(Data("\r\n--b--\r\n".utf8)),
            ]
            #expect(encoded.segments == expected)
            let length = encoded.segments.reduce(Int64(0)) { sum, segment in
                switch segment {
                case .bytes(let data): sum + Int64(data.count)
                case .file(_, let length): sum + length
                }
            }
            #expect(encoded.length == length)
            #expect(encoded.data == nil)
        }
    }

    @Test
    func aSymbolicLinkHasTheLengthOfItsTarget() throws {
        try withFile(Data(repeating: 7, count: 300), named: "target") { file in
            let link = file.deletingLastPathComponent().appendingPathComponent("link.txt")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let encoded = try MultipartFormData(parts: [Part(name: "f", file: link)]).encode(boundary: "b")
            #expect(encoded.segments.contains(.file(link, length: 300)))
        }
    }

    @Test
    func anInvalidFileIsAnErrorBeforeAnythingIsSent() throws {
        let missing = URL(fileURLWithPath: "/nowhere/\(UUID())")
        let error = #expect(throws: PulseError.self) {
            try MultipartFormData(parts: [Part(name: "f", file: missing)]).encode(boundary: "b")
        }
        guard case .encodingFailed = error else {
            Issue.record("not an encoding failure: \(String(describing: error))")
            return
        }
        let others = [FileManager.default.temporaryDirectory.path, "/dev/null"].map { URL(fileURLWithPath: $0) }
        for url in others + [URL(string: "https://h.test/a")].compactMap({ $0 }) {
            let error = #expect(throws: PulseError.self) {
                try MultipartFormData(parts: [Part(name: "f", file: url)]).encode(boundary: "b")
            }
            guard case .invalidRequest = error else {
                Issue.record("not an invalid request: \(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: [
        ("a.png", "image/png"), ("A.PDF", "application/pdf"), ("a.tar.gz", "application/gzip"),
        ("noextension", "application/octet-stream"), ("a.", "application/octet-stream"),
        ("a.xyz", "application/octet-stream"), ("", "application/octet-stream"), (".json", "application/json"),
    ])
    func theMediaTypeOfAFileIsGuessedFromItsName(filename: String, mimeType: String) {
        #expect(Part(name: "f", data: Data(), filename: filename).mimeType == mimeType)
        #expect(Part(name: "f", data: Data()).mimeType == nil)
    }

    @Test
    func aBoundaryHas128BitsAndNeedsNoQuotes() throws {
        struct Fixed: Randomness {
            func next() -> UInt64 { 0xAB }
        }
        let boundary = MultipartFormData.boundary(using: Fixed())
        #expect(boundary == "PulseKit-00000000000000ab00000000000000ab")
        #expect(MultipartFormData.contentType(boundary: boundary) == "multipart/form-data; boundary=\(boundary)")
        #expect(MultipartFormData.boundary(using: .system) != MultipartFormData.boundary(using: .system))
        #expect(try text([], boundary: boundary) == "--\(boundary)--\r\n")
    }

    @Test
    func aParserReadsTheEncodedForm() throws {
        var generator = SplitMix64(seed: 4)
        for _ in 0..<500 {
            let fields = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                (
                    name: generator.hostileText(maxLength: 10).filter { $0 != "\u{0}" },
                    value: generator.hostileText(maxLength: 30)
                )
            }
            let boundary = MultipartFormData.boundary(using: .system)
            let body = try text(fields.map { Part(name: $0.name, data: Data($0.value.utf8)) }, boundary: boundary)
            let pieces = ("\r\n" + body).components(separatedBy: "\r\n--\(boundary)")
            #expect(pieces.first == "" && pieces.last == "--\r\n" && pieces.count == fields.count + 2)
            for (piece, field) in zip(pieces.dropFirst(), fields) {
                let headEnd = try #require(piece.range(of: "\r\n\r\n", options: .literal))
                #expect(piece[headEnd.upperBound...].utf8.elementsEqual(field.value.utf8))
                let head = piece[..<headEnd.lowerBound]
                #expect(head.utf8.filter { $0 == UInt8(ascii: "\"") }.count == 2)
                #expect(head.utf8.filter { $0 == 0x0D || $0 == 0x0A }.count == 2)
            }
        }
    }

    @Test(arguments: ["\"", "a", "\r\n", "\n", "\u{E9}"])
    func escapingANameTakesLinearTime(unit: String) {
        func steps(_ count: Int) -> Int {
            var bytes = CountedBytes()
            let text = String(repeating: unit, count: count)
            MultipartFormData.Part.escape(text, normalizesLineBreaks: true, to: &bytes)
            return bytes.steps
        }
        #expect(steps(8_000) < 9 * steps(4_000) / 4)
    }
}
