// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseGraphQL

@Suite(.throttled)
struct GraphQLDocumentTests {
    private static let documents: [(text: String, operations: [String])] = [
        ("", []),
        ("{ me }", ["query"]),
        ("query { me }", ["query"]),
        ("query Me{me}", ["query Me"]),
        ("mutation Save($a: Int = 1) @go(x: {b: 2}) { save(a: $a) }", ["mutation Save"]),
        ("subscription S { s } query Q { q }", ["subscription S", "query Q"]),
        ("fragment F on User { name } query Q { ...F }", ["query Q"]),
        ("fragment query on User { query { mutation } } mutation subscription { query }", ["mutation subscription"]),
        ("query A($x: In = {a: {b: \"}\"}}) { a(s: \"{\\\"}\") { b } } query B { b }", ["query A", "query B"]),
        ("# query No { }\n,, query Yes { yes } # query No { }", ["query Yes"]),
        ("# query No { }\rquery Yes { yes }", ["query Yes"]),
        (#"query A { a(s: """ query B { \""" } """) } query C { c }"#, ["query A", "query C"]),
        (#"query A { a(s: "", t: """""") } query C { c }"#, ["query A", "query C"]),
        ("\"Reads.\" query A { a } \"\"\"Writes.\"\"\" mutation B { b }", ["query A", "mutation B"]),
        ("\u{FEFF}query A { a }", ["query A"]),
        ("query Ünder { a }", ["query"]),
        ("query A { größe: a(s: \"é\") }", ["query A"]),
        ("query _a1 { a } query _a2 { a }", ["query _a1", "query _a2"]),
    ]

    @Test(arguments: documents.indices)
    func operationsAreFoundWithTheirNames(index: Int) throws {
        let (text, operations) = Self.documents[index]
        let found = try GraphQLDocument(text).operations.map { operation in
            operation.kind.rawValue + (operation.name.map { " " + $0 } ?? "")
        }
        #expect(found == operations)
    }

    @Test(arguments: [
        "query A { a", "query A", "query A { a(s: \"x) }", "query A { a(s: \"\"\"x\") }", "query A { a(s: \"x\n\") }",
        "} query A { a }", "query A ) { a }", "type User { name: String }", "user { name }", "(query A { a })",
        "query A { a } }", "query A { a(s: \"\\", "\"description",
    ])
    func anUnreadableDocumentIsAnInvalidRequest(text: String) {
        #expect(throws: PulseError.self) { try GraphQLDocument(text) }
    }

    @Test func everyPrefixOfADocumentIsReadOrRefused() {
        let text = #"query A($x: In = {a: 1}) { a(s: "\"}", t: """ \""" """) { b } } # end"#
        for count in 0...text.count {
            let read = try? GraphQLDocument(String(text.prefix(count)))
            #expect(read == nil || count == 0 || count >= text.count - 6, "\(count) characters")
        }
    }

    @Test func anOperationIsChosenByItsNameOrBecauseItIsTheOnlyOne() throws {
        let two = try GraphQLDocument("query A { a } mutation B { b }")
        #expect(try two.operation(named: "B") == .init(kind: .mutation, name: "B"))
        #expect(throws: PulseError.self) { try two.operation(named: nil) }
        #expect(throws: PulseError.self) { try two.operation(named: "C") }
        let one = try GraphQLDocument("query A { a }")
        #expect(try one.operation(named: nil).name == "A")
        #expect(throws: PulseError.self) { try one.operation(named: "") }
        #expect(throws: PulseError.self) { try GraphQLDocument("fragment F on A { a }").operation(named: nil) }
    }
}
