// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RedactionBodyTests {
    @Test(arguments: [
        (#"{"a":1,"token":"x"}"#, #"{"a":1,"token":"***"}"#),
        (#"{ "token" : null , "a" : [ 1.5e+3, true ] }"#, #"{ "token" : "***" , "a" : [ 1.5e+3, true ] }"#),
        (#"{"token":{"a":[1,{"b":2}]},"c":3}"#, #"{"token":"***","c":3}"#),
        (
            #"[{"token":[]},{"token":{}},{"token":false},{"pin":-1}]"#,
            #"[{"token":"***"},{"token":"***"},{"token":"***"},{"pin":"***"}]"#
        ),
        (#"{"\u0074oken":"x","a":"\u0074oken"}"#, #"{"\u0074oken":"***","a":"\u0074oken"}"#),
        (#"{"note":"Authorization: Bearer x","a":1}"#, #"{"note":"Authorization: ***","a":1}"#),
        (#"{"url":"https:\/\/u:p@h\/?token=x","a":1}"#, #"{"url":"https://***@h/?token=***","a":1}"#),
        (
            #"{"log":"line\npassword=x\n\u00e9\u0001","a":1}"#,
            "{\"log\":\"line\\npassword=***\\n\u{E9}\\u0001\",\"a\":1}"
        ),
        (#"{"inner":"{\"token\":\"a\\\"b\",\"c\":1}"}"#, #"{"inner":"{\"token\":\"***\",\"c\":1}"}"#),
        ("{\"a\":1}\n{\"token\":\"x\"}\n", "{\"a\":1}\n{\"token\":\"***\"}\n"),
        ("\u{1E}{\"token\":1}\n", "\u{1E}{\"token\":\"***\"}\n"),
        (#""token""#, #""token""#),
        (#"{"token":"x","a"#, #"{"token":"***","a"#),
        (#"{"a":[{"token":["x",{"#, #"{"a":[{"token":"***""#),
        (#"{"a":1,"token":"x\"#, #"{"a":1,"token":"***"#),
        (
            #"{"u":"https:\/\/u:p@h\/","\u0074oken":["x","y"],"b":"line\nsid=x\n","c":"#,
            #"{"u":"https://***@h/","\u0074oken":"***","b":"line\nsid=***\n","c":"#
        ),
        (#"[token=x]"#, #"[token=***]"#), (#"["token":"x"]"#, #"["token":"***"]"#),
        (#"[note] token=x"#, #"[note] token=***"#), (#"{"a":1},token=x,b"#, #"{"a":1},token=***"#),
        (#"{"a":1,token:x}"#, #"{"a":1,token:***}"#), (#"{"a":[1,2],"token"="x"}"#, #"{"a":[1,2],"token"="***"}"#),
        (#"et","token":"x","a":1}"#, #"et","token":"***","a":1}"#),
        (#"{token:"x",'pin':'y',"a":1,}"#, #"{token:"***",'pin':'***',"a":1,}"#),
        (#"{"a":1}}{"token":"x"}"#, #"{"a":1}}{"token":"***"}"#),
        ("", ""),
    ])
    @HeavyWork func jsonIsMaskedByKey(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        for type in ["application/json", "application/problem+json; charset=utf-8", "application/x-ndjson"] {
            #expect(Redaction.standard.body(Data(text.utf8), contentType: type) == expected)
        }
        #expect(Redaction.standard.body(Data(expected.utf8), contentType: "application/json") == expected)
    }

    @Test(arguments: [
        (
            #"[{"name":"pin","value":"a"},{"name":"x","value":"b"}]"#,
            #"[{"name":"pin","value":"***"},{"name":"x","value":"b"}]"#
        ),
        (
            #"[{"value":{"name":"pin","value":1},"a":"Bearer b1","Key":"api_key"},{"value":"c","key":"x"}]"#,
            #"[{"value":"***","a":"Bearer ***","Key":"api_key"},{"value":"c","key":"x"}]"#
        ),
        (
            #"{"value":[1],"b":{"name":"token","Values":["a"]},"\u006eame":"\u0070assword","c":"d"}"#,
            #"{"value":"***","b":{"name":"token","Values":"***"},"\u006eame":"\u0070assword","c":"d"}"#
        ),
        (
            #"{"name":"pin","note":"} <a>","content":"b","value":null}"#,
            #"{"name":"pin","note":"} <a>","content":"b","value":"***"}"#
        ),
        (#"{"a":"{\"name\":\"pin\",\"value\":\"b\"}"}"#, #"{"a":"{\"name\":\"pin\",\"value\":\"***\"}"}"#),
        (#"{"a":{"name":"pin"},"value":"b"}"#, #"{"a":{"name":"pin"},"value":"b"}"#),
        (#"{"a":{"value":"b"},"name":"pin"}"#, #"{"a":{"value":"b"},"name":"pin"}"#),
    ])
    @HeavyWork func jsonIsMaskedByTheNameInASibling(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.body(Data(text.utf8), contentType: "application/json") == expected)
        #expect(Redaction.standard.body(Data(expected.utf8), contentType: "application/json") == expected)
    }

    /// Once the name has been read, no part of the value is shown.
    @Test(arguments: [
        #"{"a":[{"name":"password","note":"} <a>","value":"hunter2"},{"b":"c"}]}"#,
        #"{"a":[{"name":"password","value":{"a":["hunter2",1]}},{"b":"c"}]}"#,
        #"{"a":[{"value":"hunter2","b":"c","name":"password"},{"b":"c"}]}"#,
        #"at [{"value":"hunter2","b":"c","name":"password"},{"b":"c"}]"#,
        #"<form><input name="password" type=hidden value="hunter2"><b>c</b>"#,
        #"<form><input value='hunter2' name="password"><b>c</b>"#,
    ])
    @HeavyWork func aTruncatedEntryIsMasked(text: String) throws {
        let name = try #require(text.range(of: "\"password\""))
        var end = name.upperBound
        while true {
            for type in ["application/json", "text/html", nil] {
                let shown = Redaction.standard.body(Data(text[..<end].utf8), contentType: type)
                #expect(shown?.contains("\"hu") == false && shown?.contains("'hu") == false, "\(shown ?? "")")
            }
            if end == text.endIndex { break }
            end = text.index(after: end)
        }
    }

    /// System.Text.Json and PHP write `\u0022` for a quote inside a string.
    @Test(arguments: [
        (
            #"{"a":"{\u0022b\u0022:\u0022{\\u0022password\\u0022:\\u0022hunter2\\u0022}\u0022}"}"#,
            #"{"a":"{\"b\":\"{\\u0022password\\u0022:\\u0022***\\u0022}\"}"}"#
        ),
        (
            #"{"a":"{\"b\":\"{\\u0022password\\u0022:\\u0022hunter2\\u0022}\"}"}"#,
            #"{"a":"{\"b\":\"{\\u0022password\\u0022:\\u0022***\\u0022}\"}"}"#
        ),
        (
            #"{"a":"{\u0022b\u0022:\u0022{\\\u0022password\\\u0022:\\\u0022hunter2\\\u0022}\u0022}"}"#,
            #"{"a":"{\"b\":\"{\\\"password\\\":\\\"***\\\"}\"}"}"#
        ),
        (
            #"{"a":"{\u0022user\u0022:\u0022a\u0022,\u0022password\u0022:\u0022hun\\u0022ter2\u0022,\u0022b\u0022:1"#,
            #"{"a":"{\u0022user\u0022:\u0022a\u0022,\u0022password\u0022:\u0022***\u0022,\u0022b\u0022:1"#
        ),
        (
            #"{"a":"{\u0022user\u0022:\u0022a\u0022,\u0022password\u0022:\u0022hunt"#,
            #"{"a":"{\u0022user\u0022:\u0022a\u0022,\u0022password\u0022:\u0022***"#
        ),
        (
            #"{"query":"mutation { login(password: \"\"\"hunter2\"\"\") { id } }"}"#,
            #"{"query":"mutation { login(password: \"\"\"***\"\"\") { id } }"}"#
        ),
        (
            #"{"query":"mutation { login(password: \"\"\"hunter2\"\"\") { id } }","variables":"#,
            #"{"query":"mutation { login(password: \"\"\"***\"\"\") { id } }","variables":"#
        ),
    ])
    @HeavyWork func textInJSONIsMaskedInEveryQuoteNotation(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.body(Data(text.utf8), contentType: "application/json") == expected)
        #expect(Redaction.standard.body(Data(expected.utf8), contentType: "application/json") == expected)
    }

    @Test(arguments: [
        (
            "<p>&lt;Login&gt;&lt;Password&gt;hunter2&lt;/Password&gt;&lt;a&gt;b&lt;/a&gt;&lt;/Login&gt;</p>",
            "<p>&lt;Login&gt;&lt;Password&gt;***&lt;/Password&gt;&lt;a&gt;b&lt;/a&gt;&lt;/Login&gt;</p>"
        ),
        ("<p>&lt;Password>hunter2&lt;/Password></p>", "<p>&lt;Password>***&lt;/Password></p>"),
        ("<p>&#60;pin&#62;1&#60;/pin&#62;</p>", "<p>&#60;pin&#62;***&#60;/pin&#62;</p>"),
        ("<p>&#x3C;pin&#x3E;1&#x3C;/pin&#x3E;</p>", "<p>&#x3C;pin&#x3E;***&#x3C;/pin&#x3E;</p>"),
        (
            "<p>&amp;lt;pin&amp;gt;1&amp;amp;lt;2&amp;lt;/pin&amp;gt;&lt;a&gt;</p>",
            "<p>&amp;lt;pin&amp;gt;***&amp;lt;/pin&amp;gt;&lt;a&gt;</p>"
        ),
        (
            "<p>&lt;n:secret&gt;&lt;n:secret/&gt;a&lt;n:secret&gt;b&lt;/n:secret&gt;c&lt;/n:secret&gt;d</p>",
            "<p>&lt;n:secret&gt;***&lt;/n:secret&gt;d</p>"
        ),
        ("<p>&lt;pin&gt;&lt;![CDATA[a&lt;b]]&gt;&lt;/pin&gt;c</p>", "<p>&lt;pin&gt;***&lt;/pin&gt;c</p>"),
        ("<p>&lt;pin&gt;&lt;a&gt;1</p><b>c</b>", "<p>&lt;pin&gt;***</p><b>c</b>"),
        ("<p>&lt;pin/&gt;&lt;a&gt;b</p>", "<p>&lt;pin/&gt;&lt;a&gt;b</p>"),
        ("<p>&lt;Login Password=&quot;hunter2&quot;/&gt;</p>", "<p>&lt;Login Password=&quot;***&quot;/&gt;</p>"),
        (
            "<p>&lt;a u=&quot;http://h/?x=1&quot; pin=&quot;a&amp;quot;b&quot;/&gt;</p>",
            "<p>&lt;a u=&quot;http://h/?x=1&quot; pin=&quot;***&quot;/&gt;</p>"
        ),
        (
            "<p>&lt;u&gt;http://h/?x=1&lt;/u&gt;&lt;pin&gt;1&lt;/pin&gt;</p>",
            "<p>&lt;u&gt;http://h/?x=1&lt;/u&gt;&lt;pin&gt;***&lt;/pin&gt;</p>"
        ),
        (
            "<p x=\"{&quot;u&quot;:&quot;//h/?a=1&quot;,&quot;pin&quot;:1,&quot;sid&quot;:&quot;a&quot;}\">b</p>",
            "<p x=\"{&quot;u&quot;:&quot;//h/?a=1&quot;,&quot;pin&quot;:&quot;***&quot;,&quot;sid&quot;:&quot;***&quot;}\">b</p>"
        ),
        ("<token a=\"&lt;b&gt;\">c</token>", "<token a=\"&lt;b&gt;\">***</token>"),
        (
            "<p>the &lt;b&gt; of a &amp;&amp; b: &quot;c&quot; = d</p>",
            "<p>the &lt;b&gt; of a &amp;&amp; b: &quot;c&quot; = d</p>"
        ),
        ("{&quot;password&quot;:&quot;hunter2&quot;}", "{&quot;password&quot;:&quot;***&quot;}"),
        ("{&#34;password&#34;: &#34;hun\\&#34;ter2&#34;, a}", "{&#34;password&#34;: &#34;***&#34;, a}"),
        ("{&#x22;password&#x22;:&#x22;hunter2&#x22;}", "{&#x22;password&#x22;:&#x22;***&#x22;}"),
        ("{&#039;password&#039; =&gt; &#039;hunter2&#039;}", "{&#039;password&#039; =&gt; &#039;***&#039;}"),
    ])
    @HeavyWork func escapedMarkupIsMaskedLikePlainMarkup(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        for type in ["application/soap+xml; charset=utf-8", "text/html"] {
            #expect(Redaction.standard.body(Data(text.utf8), contentType: type) == expected)
            #expect(Redaction.standard.body(Data(expected.utf8), contentType: type) == expected)
        }
    }

    @Test
    @HeavyWork func deepJSONIsMasked() {
        let deep =
            String(repeating: "[", count: 50_000) + "{\"token\":\"hunter2\"}" + String(repeating: "]", count: 50_000)
        let shown = Redaction.standard.body(Data(deep.utf8), contentType: "application/json")
        #expect(shown?.contains("hunter2") == false)
    }

    @Test(arguments: [
        ("a=1&token=x&b=2", "a=1&token=***&b=2"),
        ("%74oken=x&api+key=y&user%5Bpin%5D=1", "%74oken=***&api+key=***&user%5Bpin%5D=***"),
        ("u=https%3A%2F%2Fa%3Ab%40c%2F&a=b+c%26d", "u=***&a=b+c%26d"),
        ("password=a+b%26c;d,e=f#g", "password=***"),
        ("user%5Bname%5D=bob&a=1:2&utf8=%E2%9C%93&b=&c&=d&&e", "user%5Bname%5D=bob&a=1:2&utf8=%E2%9C%93&b=&c&=d&&e"),
        ("filter[a]=x&next=/a?b=c&date%3Agte=1&t=a:b=c", "filter[a]=x&next=/a?b=c&date%3Agte=1&t=a:b=c"),
        ("filter[pin]=1&a%2Fb=2", "filter[pin]=***&a%2Fb=2"),
        // A name that contains more than a name.
        (#"a=1&{"password":"hunter2","note":"x=y"}&b=2"#, "a=1&***&b=2"),
        (#"x{"password":"hun=ter2"}"#, "***"),
        ("%7B%22password%22%3A%22hunter2%22%7D=&b=2", "***&b=2"),
        ("a+token:+hunter2=&b=2", "***&b=2"),
    ])
    @HeavyWork func formsAreMaskedByField(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        let type = "application/x-www-form-urlencoded; charset=utf-8"
        #expect(Redaction.standard.body(Data(text.utf8), contentType: type) == expected)
    }

    /// `curl -d` and similar tools label JSON like this.
    @Test(arguments: [
        (#"{"password":"hunter2","note":"x=y"}"#, #"{"password":"***","note":"x=y"}"#),
        (#"{"password":"hunter2","u":"https://h/a?x=1"}"#, #"{"password":"***","u":"https://h/a?x=1"}"#),
        ("\n [{\"pin\":1,\"a\":\"b=c&d\"}]", "\n [{\"pin\":\"***\",\"a\":\"b=c&d\"}]"),
        (#"{"password":"hun=te&r2"}="#, #"{"password":"***"}="#),
    ])
    @HeavyWork func jsonLabeledAsAFormIsMasked(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        let type = "application/x-www-form-urlencoded"
        #expect(Redaction.standard.body(Data(text.utf8), contentType: type) == expected)
        #expect(Redaction.standard.body(Data(expected.utf8), contentType: type) == expected)
    }

    @Test(arguments: [
        "multipart/form-data; boundary=\"x y\"", "multipart/form-data; charset=utf-8;boundary=\"x y\"", nil,
        "multipart/form-data; boundary=\"x y\" ; charset=utf-8", "multipart/form-data; boundary=x y \t; charset=utf-8",
    ])
    @HeavyWork func multipartIsMaskedByPartName(contentType: String?) throws {
        func body(_ parts: [(headers: String, content: String)]) -> String {
            parts.map { "--x y\r\n\($0.headers)\r\n\r\n\($0.content)\r\n" }.joined() + "--x y--\r\n"
        }
        let parts = [
            ("Content-Disposition: form-data; name=\"note\"", "hello"),
            ("Content-Disposition: form-data; name=\"pass\\word\"", "line 1\r\nline 2"),
            ("content-disposition: form-data; filename=\"name=a;b\"; name=client_secret", "s1"),
            (
                "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json",
                "{\"token\":\"s2\",\"a\":1}"
            ),
            ("Content-Disposition: form-data; name=\"f\"\r\nContent-Type: application/octet-stream", "\u{0}\u{1}\u{2}"),
            ("Content-Disposition: form-data; name*=UTF-8''to%6ben", "s3"),
            ("Content-Disposition: form-data; name=\"empty-token\"", ""),
            ("Content-Disposition: form-data;\r\n name=\"password\"", "hunter2"),
            ("Content-Disposition:\r\n\tform-data; filename=\"a\";\r\n name=pin", "1234"),
        ]
        let mask = Redaction.mask
        let expected = zip(
            parts, ["hello", mask, mask, "{\"token\":\"\(mask)\",\"a\":1}", "<3 bytes>", mask, "", mask, mask]
        ).map { ($0.0, $1) }
        let shown = Redaction.standard.body(
            Data(body(parts).utf8), contentType: contentType ?? "multipart/form-data")
        #expect(shown == body(expected))
    }

    @Test
    @HeavyWork func deeplyNestedMultipartIsMasked() {
        let nested = String(repeating: "--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n", count: 20_000)
        for text in [nested + "token=hunter2", String(repeating: "--b\r\n\r\n", count: 50_000) + "token=hunter2"] {
            let shown = Redaction.standard.body(Data(text.utf8), contentType: nil)
            #expect(shown?.contains("hunter2") == false)
        }
    }

    @Test
    @HeavyWork func truncatedMultipartIsMasked() {
        let text = "preamble token=s1\r\n--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nhunter2\r\nhunt"
        let shown = Redaction.standard.body(Data(text.utf8), contentType: "multipart/form-data; boundary=b")
        #expect(shown?.contains("hunt") == false)
        #expect(shown?.contains("s1") == false)
    }

    @Test
    @HeavyWork func onlyTextBodiesAreShown() {
        #expect(Redaction.standard.body(Data([0xFF, 0xD8, 0x00]), contentType: "image/jpeg") == nil)
        #expect(Redaction.standard.body(Data([0xFF, 0xD8]), contentType: nil) == nil)
        // UTF-16: its NUL bytes would hide the names.
        #expect(
            Redaction.standard.body(
                Data("{\"token\":1}".utf16.flatMap { [UInt8($0), 0] }), contentType: "application/json") == nil)
        #expect(Redaction.isText(Data("<svg/>".utf8), contentType: "image/svg+xml"))
        #expect(Redaction.isText(Data("a".utf8), contentType: nil))
        #expect(
            Redaction.standard.body(Data("data: {\"token\":\"x\"}\n\n".utf8), contentType: "text/event-stream")
                == "data: {\"token\":\"\(Redaction.mask)\"}\n\n")
        // Invalid UTF-8 is still shown, and masked.
        #expect(
            Redaction.standard.body(Data([0xFF] + Array("token=x".utf8)), contentType: "text/plain")
                == "\u{FFFD}token=\(Redaction.mask)")
    }
}
