// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct JSONMembersTests {
    private func text(_ members: JSONMembers, _ name: String) -> String? {
        members[name].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func membersAreSlicesOfTheText() throws {
        let json = #" { "a" : {"b":[1,"}",{"c":"]\"{"}]} , "d":-1.5e3,"e":null , "f" : "x,y" ,"g":[ ] , } "#
        let members = try JSONMembers(of: Data(json.utf8))
        #expect(text(members, "a") == #"{"b":[1,"}",{"c":"]\"{"}]}"#)
        #expect(text(members, "d") == "-1.5e3")
        #expect(text(members, "e") == nil)
        #expect(members.has("e"))
        #expect(text(members, "f") == #""x,y""#)
        #expect(text(members, "g") == "[ ]")
        #expect(text(members, "b") == nil)
        #expect(!members.has("b"))
    }

    @Test func theFirstOfTwoMembersCountsAndNamesMayBeEscaped() throws {
        let members = try JSONMembers(of: Data(#"{"\u0064ata":1,"data":2,"q\"":3}"#.utf8))
        #expect(text(members, "data") == "1")
        #expect(text(members, "q\"") == "3")
    }

    @Test func otherEncodingsAreRead() throws {
        for encoding in [String.Encoding.utf16BigEndian, .utf16LittleEndian, .utf16, .utf32LittleEndian] {
            let members = try JSONMembers(of: try #require(#"{"data":"ü"}"#.data(using: encoding)))
            #expect(text(members, "data") == #""ü""#)
        }
        #expect(text(try JSONMembers(of: Data([0xEF, 0xBB, 0xBF]) + Data(#"{"a":1}"#.utf8)), "a") == "1")
    }

    @Test(arguments: [
        "", " ", "[]", "1", "{", "{]", "{\"a\"}", "{\"a\":}", "{\"a\":,}", "{\"a\" 1}", "{a:1}",
        "{\"a\":1}}", "{\"a\":1} x", "{\"a", "{\"a\":\"x}", "{\"a\":[1,2}", "{\"\\x\":1}", "{,}", "{\"a\":1]",
    ])
    func whatIsNoObjectIsRefused(text: String) {
        #expect(throws: DecodingError.self) { try JSONMembers(of: Data(text.utf8)) }
    }

    @Test func everyTruncationIsRefused() {
        let json = #"{"data":{"a":[1,"x\"y",{"b":null}]},"errors":[{"message":"\u00fc"}]}"#
        for count in 0..<json.utf8.count {
            #expect(throws: DecodingError.self, "\(count) bytes") {
                try JSONMembers(of: Data(json.utf8.prefix(count)))
            }
        }
    }
}
