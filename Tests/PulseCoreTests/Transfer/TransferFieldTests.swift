// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// The header fields of transfers.
@Suite(.throttled)
struct TransferFieldTests {
    // MARK: Content-Range (RFC 9110, section 14.4)

    @Test func aContentRangeMustLieWithinItsLength() {
        #expect(ContentRange("bytes 2-4/10") == ContentRange(range: 2..<5, length: 10))
        #expect(ContentRange("BYTES 2-4/*") == ContentRange(range: 2..<5, length: nil))
        #expect(ContentRange("bytes 2-4/10")?.text == "bytes 2-4/10")
        #expect(ContentRange("bytes 2-4/*")?.text == "bytes 2-4/*")
        for text in [
            "bytes 2-10/10", "bytes 4-2/10", "bytes */10", "bytes 2-4", "bytes  2-4/10", "items 2-4/10", "bytes=2-4/10",
            "bytes 2-4/10/10", "bytes -4/10", "bytes 2-/10", "bytes 2-4/", "bytes 0-\(Int.max)/*",
            "bytes 0-1/99999999999999999999", "",
        ] {
            #expect(ContentRange(text) == nil, "\(text)")
        }
    }

    @Test func anUnsatisfiedRangeStatesTheLength() {
        #expect(ContentRange.length(ofUnsatisfied: "bytes */10") == 10)
        #expect(ContentRange.length(ofUnsatisfied: "BYTES */0") == 0)
        for text in ["bytes */*", "bytes 0-1/10", "bytes */-1", "items */10", "*/10", "bytes */", ""] {
            #expect(ContentRange.length(ofUnsatisfied: text) == nil, "\(text)")
        }
    }

    // MARK: Content-Disposition (RFC 6266 and 8187)

    @Test(arguments: [
        (#"attachment; filename="a.txt""#, "a.txt"), ("attachment;filename=a.txt", "a.txt"),
        (#"ATTACHMENT; FILENAME = "a b.txt" ; x=y"#, "a b.txt"), (#"inline; filename="a\"b.txt""#, #"a"b.txt"#),
        ("attachment; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename=\"n.txt\"; filename*=utf-8'en'na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename*=iso-8859-1''na%EFve.txt; filename=n.txt", "naïve.txt"),
        ("attachment; filename=n.txt; filename*=UTF-8''%FF", "n.txt"),
        ("attachment; filename=n.txt; filename*=UTF-8''%C", "n.txt"),
        ("attachment; filename=n.txt; filename*=koi8-r''%C1", "n.txt"),
        ("attachment; filename=n.txt; filename*=broken", "n.txt"),
        ("attachment; filename=my report.pdf ; x=y", "my report.pdf "), ("attachment; filename=a,b.txt", "a,b.txt"),
        ("attachment; filename=a.txt; filename=b.txt", "a.txt"),
        ("attachment; filename *=UTF-8''x", nil), ("attachment; filename *=UTF-8''x; filename=a.txt", "a.txt"),
        ("attachment; filename; filename=a.txt", "a.txt"), ("attachment; x y; filename=a.txt", "a.txt"),
        ("attachment", nil), ("", nil), ("attachment; x=y", nil), ("filename=a.txt", nil),
    ])
    func theNameIsFound(field: String, name: String?) {
        #expect(ContentDisposition.name(in: Array(field.utf8)) == name)
    }

    @Test func octetsThatAreNoUTF8AreLatin1() {
        let octets = Array("attachment; filename=\"na".utf8) + [0xEF] + Array("ve.txt\"".utf8)
        #expect(ContentDisposition.name(in: octets) == "naïve.txt")
    }

    /// Every beginning of a field is read without a trap.
    @Test func aCutFieldIsRead() {
        let field = Array(#"attachment; filename="a\"b"; filename*=UTF-8'e'%C3%AF"#.utf8)
        for end in 0...field.count { _ = ContentDisposition.name(in: Array(field[..<end])) }
    }

    @Test(arguments: [
        ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), (#"C:\\temp\\a.exe"#, "a.exe"), ("..", nil),
        (".", nil), ("", nil), ("a/", nil), (".bashrc", "bashrc"), ("...a", "a"), (" . a .. ", "a"),
        ("a\u{0}b\u{7F}\n.txt", "ab.txt"), ("gpj.\u{202E}exe", "gpj.exe"), ("~", "~"), ("-rf", "-rf"),
        ("\u{1F4C4}.txt", "\u{1F4C4}.txt"),
    ])
    func aNameIsMadeSafe(text: String, name: String?) {
        #expect(SafeFileName.from(text) == name)
    }

    /// One character with what stands behind them, the separators must be found all the same.
    @Test(arguments: ["\u{200D}", "\u{200C}", "\u{301}", "\u{FE0F}", "\u{AD}", "\u{0}"], ["/", "\\", "."])
    func aMarkHidesNoSeparator(mark: String, separator: String) throws {
        let part = separator + mark
        let name = try #require(SafeFileName.from("\(part)..\(part)..\(part)home\(part).config\(mark)"))
        #expect(!name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(UInt8(ascii: "\\")))
        #expect(name.utf8.first != UInt8(ascii: "."))
    }

    @Test func aLongNameKeepsItsEnding() throws {
        let name = try #require(SafeFileName.from(String(repeating: "ä", count: 500) + ".pdf"))
        #expect(name.utf8.count <= 200 && name.hasSuffix("ä.pdf"))
        let ending = try #require(SafeFileName.from("a." + String(repeating: "b", count: 500)))
        #expect(ending.utf8.count == 200)
        let marks = try #require(SafeFileName.from("e" + String(repeating: "\u{301}", count: 500) + ".pdf"))
        #expect(marks.utf8.count <= 200 && marks.utf8.count > 190 && marks.hasSuffix(".pdf"))
        #expect(SafeFileName.numbered("report.pdf", 1) == "report (1).pdf")
        #expect(SafeFileName.numbered("report", 12) == "report (12)")
    }

    // MARK: Progress

    @Test func aProgressHasItsFractionAndTheTimeLeft() {
        let half = TransferProgress(completed: 50, total: 100, bytesPerSecond: 10)
        #expect(half.fraction == 0.5 && half.secondsLeft == 5 && half.attempt == 1)
        #expect(TransferProgress(completed: 0, total: 0).fraction == 1)
        #expect(TransferProgress(completed: 5, total: nil, bytesPerSecond: 1).fraction == nil)
        #expect(TransferProgress(completed: 5, total: nil, bytesPerSecond: 1).secondsLeft == nil)
        #expect(TransferProgress(completed: 5, total: 10).secondsLeft == nil)
        #expect(TransferProgress(completed: 11, total: 10, bytesPerSecond: 1).secondsLeft == 0)
        #expect(TransferProgress(completed: 11, total: 10).fraction == 1)
        for rate in [0, -1, .nan, .infinity] as [Double] {
            #expect(TransferProgress(completed: 1, total: 2, bytesPerSecond: rate).bytesPerSecond == nil)
        }
    }
}
