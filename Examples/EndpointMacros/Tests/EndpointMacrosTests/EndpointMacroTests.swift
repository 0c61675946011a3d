// SPDX-License-Identifier: MIT

import EndpointMacrosPlugin
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EndpointMacroTests {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    private func expands(
        _ source: String, to expansion: String, _ diagnostics: [DiagnosticSpec] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let specs = Self.methods.map { ($0, MacroSpec(type: EndpointMacro.self, conformances: ["Endpoint"])) }
        assertMacroExpansion(
            source, expandedSource: expansion, diagnostics: diagnostics,
            macroSpecs: Dictionary(uniqueKeysWithValues: specs), indentationWidth: .spaces(4)
        ) { failure in
            Issue.record("\(failure.message)", sourceLocation: sourceLocation)
        }
    }

    private func refuses(
        _ source: String, _ messages: [(String, line: Int, column: Int)],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expands(
            source, to: source.split(separator: "\n").dropFirst().joined(separator: "\n"),
            messages.map { DiagnosticSpec(message: $0.0, line: $0.line, column: $0.column) },
            sourceLocation: sourceLocation)
    }

    @Test func aPlaceholderTakesTheValueOfItsProperty() {
        expands(
            """
            @GET("/users/{id}")
            struct GetUser {
                typealias Response = User
                let id: Int
            }
            """,
            to: """
                struct GetUser {
                    typealias Response = User
                    let id: Int
                }

                extension GetUser: Endpoint {
                    var method: HTTPMethod {
                        .get
                    }
                    var path: PathText {
                        "/users/\\(id)"
                    }
                }
                """)
    }

    @Test func aPathWithoutPlaceholdersIsThePathItself() {
        expands(
            """
            @DELETE("/session")
            public struct LogOut {
                public typealias Response = EmptyResponse
            }
            """,
            to: """
                public struct LogOut {
                    public typealias Response = EmptyResponse
                }

                extension LogOut: Endpoint {
                    public var method: HTTPMethod {
                        .delete
                    }
                    public var path: PathText {
                        "/session"
                    }
                }
                """)
    }

    @Test func propertiesMayBeComputedOrKeywordsAndPlaceholdersMayRepeat() {
        expands(
            """
            @PATCH("/{default}/{day}/{day}")
            struct Move {
                let `default`: String
                let date: Date
                var day: String { date.day }
            }
            """,
            to: """
                struct Move {
                    let `default`: String
                    let date: Date
                    var day: String { date.day }
                }

                extension Move: Endpoint {
                    var method: HTTPMethod {
                        .patch
                    }
                    var path: PathText {
                        "/\\(`default`)/\\(day)/\\(day)"
                    }
                }
                """)
    }

    @Test func theTextAroundPlaceholdersStays() {
        expands(
            """
            @GET(#"/a"b/{id}.{kind}/posts?sort=new"#)
            struct GetPosts {
                let id: Int
                let kind: String
            }
            """,
            to: """
                struct GetPosts {
                    let id: Int
                    let kind: String
                }

                extension GetPosts: Endpoint {
                    var method: HTTPMethod {
                        .get
                    }
                    var path: PathText {
                        "/a\\"b/\\(id).\\(kind)/posts?sort=new"
                    }
                }
                """)
    }

    @Test func aPlaceholderWithoutAPropertyIsAnError() {
        refuses(
            """
            @GET("/users/{id}/{name}/{kind}")
            struct GetUser {
                static let kind = "a"
                let id: Int
            }
            """,
            [
                ("no property has the name of the placeholder '{name}'", line: 1, column: 6),
                ("no property has the name of the placeholder '{kind}'", line: 1, column: 6),
            ])
    }

    @Test func aStoredPropertyThatNothingUsesIsAnError() {
        refuses(
            """
            @GET("/users")
            struct GetUser {
                let id: Int
                init(id: Int) { self.id = id }
            }
            """,
            [("the path has no placeholder '{id}', and no other member uses 'id'", line: 3, column: 9)])
    }

    @Test func propertiesOfAnEndpointAndOfItsOtherMembersNeedNoPlaceholder() {
        expands(
            """
            @POST("/users")
            struct AddUser {
                let user: User
                let headers = ["A": "b"]
                var body: RequestBody { .json(user) }
            }
            """,
            to: """
                struct AddUser {
                    let user: User
                    let headers = ["A": "b"]
                    var body: RequestBody { .json(user) }
                }

                extension AddUser: Endpoint {
                    var method: HTTPMethod {
                        .post
                    }
                    var path: PathText {
                        "/users"
                    }
                }
                """)
    }

    @Test(arguments: [
        ("/{a", "an unbalanced brace"), ("/a}", "an unbalanced brace"),
        ("/{}", "'{}' is not the name of a property in braces"),
        ("/{a-b}", "'{a-b}' is not the name of a property in braces"),
        ("/{rest...}", "'{rest...}' is not the name of a property in braces"),
        ("/{1a}", "'{1a}' is not the name of a property in braces"),
    ])
    func aMalformedPathIsAnError(path: String, reason: String) {
        refuses("@GET(\"\(path)\")\nstruct A {\n}", [("the path is malformed: \(reason)", line: 1, column: 6)])
    }

    @Test func onlyALiteralAndOnlyAStructWillDo() {
        refuses(
            "@GET(\"/\\(a)\")\nstruct A {\n}",
            [("the path must be a string literal without interpolations", line: 1, column: 1)])
        refuses(
            "@GET(path)\nstruct A {\n}",
            [("the path must be a string literal without interpolations", line: 1, column: 1)])
        refuses("@GET(\"/\")\nenum A {\n}", [("only a struct can be an endpoint", line: 1, column: 1)])
    }
}
