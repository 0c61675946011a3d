// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let zeros = String(repeating: "0", count: 32)

    /// The examples of W3C Trace Context, sections 3.2.2 and 3.2.4, and values that its rules reject.
    @Test(arguments: [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like", true),
    ])
    func aValidTraceparentIsRead(_ text: String, _ isSampled: Bool) throws {
        let context = try #require(TraceContext(traceparent: text))
        let parts = text.split(separator: "-")
        #expect(context.traceID == parts[1])
        #expect(context.spanID == parts[2])
        #expect(context.isSampled == isSampled)
        #expect(context.traceparent == "00-\(parts[1])-\(parts[2])-\(isSampled ? "01" : "00")")
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-001",
        "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-extra", "cc-\(trace)-\(span)-01.what",
        "ff-\(trace)-\(span)-01",
        "0g-\(trace)-\(span)-01", "00-\(zeros)-\(span)-01", "00-\(trace)-\(zeros.prefix(16))-01",
        "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-00F067AA0BA902B7-01", "00-\(trace)-\(span)-0X",
        "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01", " 00-\(trace)-\(span)-01",
        "00-\(trace)-\(span)-01 ", "00-\(trace.dropLast())é-\(span)-01", "00-\(trace.dropLast())g-\(span)-01",
    ])
    func anInvalidTraceparentIsRejected(_ text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    /// The examples of section 3.3, and its rules.
    @Test(
        arguments: [
            ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true),
            ("vendorname1=opaqueValue1,vendorname2=opaqueValue2", true),
            ("rojo=1", true), ("foo=1, ,bar=2 ,", true), ("fw529a3039@dt=FfgxMzI", true), ("0a@b=1", true),
            ("foo= 1", true), ("a*/-_=1", true),
            ("", false), (",", false), ("foo", false), ("foo=", false), ("=1", false), ("Foo=1", false),
            ("foo=1,foo=2", false),
            ("foo@=1", false), ("@b=1", false), ("a@0b=1", false), ("a@b@c=1", false), ("foo=a=b", false),
            ("_foo=1", false),
            ("foo =1", false), ("foo=é", false), ("foo=a\u{7}", false),
            (String(repeating: "a", count: 257) + "=1", false), ("a=" + String(repeating: "b", count: 257), false),
            ((0..<33).map { "k\($0)=1" }.joined(separator: ","), false),
            ((0..<32).map { "k\($0)=1" }.joined(separator: ","), true),
            ((0..<3).map { "k\($0)=" + String(repeating: "v", count: 200) }.joined(separator: ","), false),
        ] as [(String, Bool)])
    func aValidTracestateIsKeptAndAnInvalidOneDropped(_ text: String, _ isValid: Bool) throws {
        let context = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01", tracestate: text))
        #expect(context.traceState == (isValid ? text : nil))
    }

    /// Always returns the same number.
    private struct Stuck: Randomness {
        let value: UInt64
        func next() -> UInt64 { value }
    }

    @Test func anIDIsNeverAllZeros() {
        let context = TraceContext(isSampled: true, Stuck(value: 0))
        #expect(TraceContext(traceparent: context.traceparent) == context)
        #expect(context.child(Stuck(value: 0)).spanID == "0000000000000001")
    }

    @Test func idsAreWrittenWithAllDigits() {
        let context = TraceContext(isSampled: false, Stuck(value: 0x0123_4567_89AB_CDEF))
        #expect(context.traceparent == "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00")
    }
}
