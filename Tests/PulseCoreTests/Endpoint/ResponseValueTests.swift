// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct ResponseValueTests {
    private func response(_ bytes: [UInt8], _ contentType: String? = nil, status: Int = 200) throws -> PulseResponse {
        PulseResponse(
            statusCode: status, headers: contentType.map { ["Content-Type": $0] } ?? [:], data: Data(bytes),
            request: try request())
    }

    @Test(
        arguments: [
            (nil, Array("Gr\u{FC}n \u{1F600}".utf8), "Gr\u{FC}n \u{1F600}"),
            ("text/plain", Array("Gr\u{FC}n".utf8), "Gr\u{FC}n"),
            ("text/plain; charset=utf-8", Array("Gr\u{FC}n".utf8), "Gr\u{FC}n"),
            ("text/plain; charset=UTF-8", Array("Gr\u{FC}n".utf8), "Gr\u{FC}n"),
            ("text/plain;charset=\"utf-8\"", Array("Gr\u{FC}n".utf8), "Gr\u{FC}n"),
            ("text/plain; charset=ISO-8859-1", [0x47, 0x72, 0xFC, 0x6E], "Gr\u{FC}n"),
            ("text/plain; format=flowed; CHARSET=\"Latin1\"", [0xFC], "\u{FC}"),
            ("text/plain; charset=us-ascii", [0x61], "a"),
            ("text/plain; charset=utf-16", [0xFE, 0xFF, 0x00, 0x61, 0x00, 0xFC], "a\u{FC}"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x61, 0x00, 0xFC, 0x00], "a\u{FC}"),
            ("text/plain; charset=utf-16le", [0x61, 0x00, 0xFC, 0x00], "a\u{FC}"),
            ("text/plain; charset=UTF-16BE", [0x00, 0x61, 0x00, 0xFC], "a\u{FC}"),
            ("text/plain; charset=klingon", [0x61], "a"),
            ("text/plain; charset=", [0x61], "a"),
            ("; ;;charset", [0x61], "a"),
            ("charset=iso-8859-1", [0x61], "a"),
            (nil, [], ""),
            ("text/plain; charset=utf-16", [], ""),
            ("text/plain; charset=us-ascii", [], ""),
        ] as [(String?, [UInt8], String)])
    func textIsDecodedInTheCharsetOfTheResponse(contentType: String?, bytes: [UInt8], text: String) throws {
        #expect(try String.read(try response(bytes, contentType), using: .json) == text)
    }

    @Test(
        arguments: [
            (nil, [0xFC]), ("text/plain; charset=us-ascii", [0xFC]), ("text/plain; charset=utf-8", [0x61, 0xC3]),
        ] as [(String?, [UInt8])])
    func bytesThatAreInvalidInTheCharsetAreAnError(contentType: String?, bytes: [UInt8]) throws {
        let invalid = try response(bytes, contentType)
        let error = #expect(throws: PulseError.self) { try String.read(invalid, using: .json) }
        guard case .decodingFailed(type: "String", _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test
    func dataIsTheUnchangedBody() throws {
        #expect(Data.read(try response([0, 255, 13, 10]), using: .json) == Data([0, 255, 13, 10]))
        #expect(Data.read(try response([]), using: .json).isEmpty)
    }

    @Test(arguments: [200, 201, 204, 205, 299])
    func anEmptyResponseIgnoresTheBody(status: Int) throws {
        #expect(EmptyResponse.read(try response([0xFF], status: status), using: .json) == EmptyResponse())
        #expect(EmptyResponse.read(try response([], status: status), using: .json) == EmptyResponse())
    }

    @Test
    func anEmptyResponseDecodesFromAnyValue() throws {
        for body in ["{}", "[]", "1", "null", #"{"a":1}"#] {
            #expect(try JSONDecoder().decode(EmptyResponse.self, from: Data(body.utf8)) == EmptyResponse())
        }
    }
}
