// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RedactionTextTests {
    @Test(
        arguments: [
            ("token=abc", "token=***"),
            ("a=1&token=abc&b=2", "a=1&token=***&b=2"),
            ("a=1&token=&b=2", "a=1&token=&b=2"),
            ("/p?token=abc HTTP/1.1", "/p?token=*** HTTP/1.1"),
            ("password = 'a b c' user = 'd'", "password = '***' user = 'd'"),
            ("password: abc, user: bob", "password: ***, user: bob"),
            ("(password: abc)", "(password: ***)"),
            ("{token:abc}", "{token:***}"),
            ("\"token\" : \"a\\\"b\", \"x\": \"y\"", "\"token\" : \"***\", \"x\": \"y\""),
            ("\"pin\":1234,\"x\":5", "\"pin\":\"***\",\"x\":5"),
            ("\"tokens\":[\"a\",{\"b\":\"]\"}],\"x\":5", "\"tokens\":\"***\",\"x\":5"),
            ("\"tokens\":[\"a\",{\"b", "\"tokens\":\"***\""),
            ("\"token\":\"abc", "\"token\":\"***"),
            (
                "\"x\":\"{\\\"token\\\":\\\"a\\\\\\\"b\\\",\\\"y\\\":1}\"",
                "\"x\":\"{\\\"token\\\":\\\"***\\\",\\\"y\\\":1}\""
            ),
            ("token => abc, x => y", "token => ***, x => y"),
            ("token=a,b,c;d x", "token=*** x"),
            ("token=a,x=b;y=c", "token=***,x=b;y=c"),
            ("token=Bearer abc x", "token=*** x"),
            ("token: Optional(\"a b\"))", "token: ***)"),
            ("API key: abc", "API key: ***"),
            ("the token type: JWT", "the token type: JWT"),
            ("token%3Dabc%26x%3Dy", "token%3D***%26x%3Dy"),
            ("a%3D1%26api%5Fkey%3Dabc", "a%3D1%26api%5Fkey%3D***"),
            ("Authorization: Basic abc def\nx", "Authorization: ***\nx"),
            ("< Set-Cookie: a=b; Path=/\r\n< X: y", "< Set-Cookie: ***\r\n< X: y"),
            ("curl -H 'Cookie: a=b; c=d' -H 'X: y'", "curl -H 'Cookie: ***' -H 'X: y'"),
            ("\"Authorization: Bearer a b\" x", "\"Authorization: ***\" x"),
            ("Bearer abc", "Bearer ***"),
            ("Bearer abc.", "Bearer ***"),
            ("Bearer%20abc123 x", "Bearer%20*** x"),
            ("the Bearer token was bad, so is bearer auth", "the Bearer token was bad, so is bearer auth"),
            ("Basic usage", "Basic usage"),
            ("basic dXNlcjpwYXNz!", "basic ***"),
            ("Negotiate YIIabc123", "Negotiate ***"),
            ("WWW-Authenticate: Basic realm=\"x\"", "WWW-Authenticate: Basic realm=\"x\""),
            ("X: Digest username=\"bob\", response=\"abc\"\nY: z", "X: Digest ***\nY: z"),
            (
                "AWS4-HMAC-SHA256 Credential=AK/x/y, SignedHeaders=host;date, Signature=abc",
                "AWS4-HMAC-SHA256 Credential=***, SignedHeaders=host;date, Signature=***"
            ),
            ("jwt eyJhbGci.eyJzdWIi.c2ln!", "jwt ***!"),
            ("%20eyJhbGci.eyJzdWIi.c2ln", "%20***"),
            ("eyJhbGci", "eyJhbGci"),
            ("heyJude.was.here", "heyJude.was.here"),
            ("https://bob@h/ x", "https://***@h/ x"),
            ("postgres://u:p/w?#@h/db?x=1", "postgres://***@h/db?x=1"),
            ("see //bob:pw@h/p", "see //***@h/p"),
            ("Location: //bob:pw@h/?token=x", "Location: //***@h/?token=***"),
            ("a//b@c // d@e //token=x", "a//b@c // d@e //token=***"),
            (#"\"u\":\"https:\/\/bob:pw@h\/?token=x\""#, #"\"u\":\"https:\/\/***@h\/?token=***\""#),
            ("https://h:8080/@bob", "https://h:8080/@bob"),
            ("https://[::1]:80/@bob", "https://[::1]:80/@bob"),
            ("(https://h/?token=abc).", "(https://h/?token=***)."),
            ("<https://h/;jsessionid=abc?x=1>", "<https://h/;jsessionid=***?x=1>"),
            ("mailto:bob@h.example", "mailto:bob@h.example"),
            ("<password>a b</password><x>c</x>", "<password>***</password><x>c</x>"),
            ("<ns:Token a=\"1\"><![CDATA[a<b]]></ns:Token>", "<ns:Token a=\"1\"><![CDATA[***]]></ns:Token>"),
            ("<token/><x>c</x>", "<token/><x>c</x>"),
            ("<secret><id>1</id><key>a</key></secret><x>c</x>", "<secret>***</secret><x>c</x>"),
            ("<secret>\n  <id>1</id>\n</secret>", "<secret>***</secret>"),
            ("<secret>a<id>1</id>b</secret><x>c</x>", "<secret>***</secret><x>c</x>"),
            ("<n:secret><n:secret>a</n:secret>b</n:secret>c", "<n:secret>***</n:secret>c"),
            ("<secret><secret a='1'/>b</secret>c", "<secret>***</secret>c"),
            ("<secret><secrets>a</secrets>b</secret >c", "<secret>***</secret >c"),
            ("<password><!-- x -->a</password>c", "<password>***</password>c"),
            ("<password><![CDATA[a]]>b</password>c", "<password>***</password>c"),
            ("<secret><a/><![CDATA[b</secret>c]]><!-- </secret> -->d</secret>e", "<secret>***</secret>e"),
            ("<secret><id>1</id", "<secret>***"),
            ("<secret></secret><x>c</x>", "<secret></secret><x>c</x>"),
            ("<a:pin b=\"1\" c='2'>1234</a:pin>", "<a:pin b=\"1\" c='2'>***</a:pin>"),
            ("<token jwt=\"eyJhbGci.eyJzdWIi.c2ln\">s</token>", "<token jwt=\"***\">***</token>"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA PRIVATE KEY-----\nx",
                "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nx"
            ),
            (
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\nab\n-----END PGP PRIVATE KEY BLOCK-----\nx",
                "-----BEGIN PGP PRIVATE KEY BLOCK-----***-----END PGP PRIVATE KEY BLOCK-----\nx"
            ),
            ("-----BEGIN PGP PUBLIC KEY BLOCK-----\nab\n", "-----BEGIN PGP PUBLIC KEY BLOCK-----\nab\n"),
            ("-----BEGIN CERTIFICATE-----\nab\n", "-----BEGIN CERTIFICATE-----\nab\n"),
            // An escaped `&`, in markup and in scripts.
            (
                "<Url>https://a.example/c?sv=2022&amp;sig=AbC123&amp;x=1</Url>",
                "<Url>https://a.example/c?sv=2022&amp;sig=***&amp;x=1</Url>"
            ),
            ("https://h.example/p?flag;pin=1234", "https://h.example/p?flag;pin=***"),
            // After a URL with user info, a scheme is still recognized.
            ("https://u:p@h/Bearer abc", "https://***@h/Bearer ***"),
            ("see https://u:p@h,Bearer abc, x", "see https://***@h,Bearer ***, x"),
            ("{\"u\":\"https://u:p@h\\ntoken: abc\"}", "{\"u\":\"https://***@h\\ntoken: ***\"}"),
            ("Bearer Bearer abc", "Bearer ***"), ("token=Bearer Bearer abc x", "token=*** x"),
            ("Bearer \"abc\" x", "Bearer \"***\" x"), ("Bearer <abc>", "Bearer <***>"),
            ("Bearer <token>", "Bearer <token>"),
            ("Bearer X-API-Key: abc", "Bearer ***"),
            ("http://a;password=abc x", "http://a;password=*** x"),
            ("https://h&password=abc&x=1", "https://h&password=***&x=1"),
            ("https://u:p@h;token=abc", "https://***@h;token=***"), ("http://token:8080/x", "http://token:8080/x"),
            ("https://h/p#a;password=abc", "https://h/p#a;password=***"),
            ("https://h#/x?token=abc", "https://h#/x?token=***"),
            ("https://h/p?token: abc", "https://h/p?token: ***"),
            // `token` may be the value or a name.
            ("password= token: abc", "password= ***"), ("password: token = abc x", "password: *** x"),
            ("password: API key: abc", "password: ***"), ("secret = \"token\": \"abc\"", "secret = \"***\": \"***\""),
            ("password=\ntoken=abc", "password=\ntoken=***"), ("password=&token=abc", "password=&token=***"),
            ("Authentication: Custom a b\nx", "Authentication: ***\nx"),
            ("Authentication-Info: nextnonce=\"a\", rspauth=\"b\"\nx", "Authentication-Info: ***\nx"),
            // The last segment of a path is no name.
            ("file:///etc/passwd: neither http nor https", "file:///etc/passwd: neither http nor https"),
            ("open /etc/passwd: no such file", "open /etc/passwd: no such file"),
            ("(../conf/secret: no such file)", "(../conf/secret: no such file)"),
            ("https://u:p@h/oauth/token: refused", "https://***@h/oauth/token: refused"),
            ("https://auth: refused", "https://auth: refused"),
            ("https://u@auth: refused", "https://***@auth: refused"),
            ("https://h/v1/token:revoke?pin=1", "https://h/v1/token:revoke?pin=***"),
            ("POST /v1/token:revoke", "POST /v1/token:revoke"),
            ("//token: abc", "//token: ***"), ("user/password: abc", "user/password: ***"),
            ("login /user:bob /password:abc", "login /user:bob /password:***"),
            ("https://h/p;token: abc", "https://h/p;token: ***"), ("https://h/token= abc", "https://h/token= ***"),
            ("refreshToken(_:completion:) Token::new", "refreshToken(_:completion:) Token::new"),
            (
                "The operation could not be completed. (NSURLErrorDomain error -1009.)",
                "The operation could not be completed. (NSURLErrorDomain error -1009.)"
            ),
            ("at 10:30:00 host: h.example, port: 80", "at 10:30:00 host: h.example, port: 80"),
            ("", ""),
        ] as [(String, String)])
    func onlyTheSecretIsMasked(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.text(text) == expected)
        #expect(Redaction.standard.text(expected) == expected)
    }

    /// Keys of services, under names and in places that say nothing.
    @Test(
        arguments: [
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github_pat_11ABCDEFG0abcdefghijkl_abc", "AKIAIOSFODNN7EXAMPLE",
            "glpat-abcdefghij-123456789", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "rk_test_4eC39HqLyjWDarjtT1zdp7dc",
            "xoxb-123456789012-abcdefABCDEF", "AIzaSyA-1234567890_bcdefghijklmnopqrstu",
            "whsec_abcdefghijklmnopqrstu",
            "sk-proj-abcDEF1234567890_abcd", "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        ])
    func aKeyOfAKnownFormIsMaskedUnderAnyName(key: String) {
        let redaction = Redaction.standard
        func shown(_ text: String) -> String {
            text.replacingOccurrences(of: key, with: Redaction.mask)
        }
        for text in [
            key, "x: \(key), y", "X-Trace: \(key)", "a%20\(key)", "/p/\(key)/q?a=\(key)&b=1", "{\"a\":\"\(key)\"}",
            "https://h/\(key)#b=\(key)",
        ] {
            #expect(redaction.text(text) == shown(text))
            #expect(redaction.text(shown(text)) == shown(text))
        }
        // The end of another word, and too short.
        for text in ["a\(key)", "_\(key)", String(key.prefix(12))] { #expect(redaction.text(text) == text) }
    }

    @Test(
        arguments: [
            (
                "<input name=\"pin\" type=\"text\" value=\"a b\"><p>c",
                "<input name=\"pin\" type=\"text\" value=\"***\"><p>c"
            ),
            (
                "<input value='a b' type=hidden name='csrf_token'/><input name='x' value='c'>",
                "<input value='***' type=hidden name='csrf_token'/><input name='x' value='c'>"
            ),
            (
                "<input type=hidden name=SAMLResponse value=PHNhbWw+/==>",
                "<input type=hidden name=SAMLResponse value=***>"
            ),
            ("<input id=\"token\" value=\"a\">", "<input id=\"token\" value=\"***\">"),
            ("<meta name=\"csrf-token\" content=\"a\">", "<meta name=\"csrf-token\" content=\"***\">"),
            ("<meta content=\"a\" name=\"csrf-token\">", "<meta content=\"***\" name=\"csrf-token\">"),
            (
                "<add key='apiKey' value='a'/><add key='x' value='b'/>",
                "<add key='apiKey' value='***'/><add key='x' value='b'/>"
            ),
            (
                "&lt;input name=&quot;pin&quot; value=&quot;a&quot;&gt;",
                "&lt;input name=&quot;pin&quot; value=&quot;***&quot;&gt;"
            ),
            (#"\u003cinput name=\"pin\" value=\"a\"\u003e"#, #"\u003cinput name=\"pin\" value=\"***\"\u003e"#),
            (
                #"at [{"name":"pin","value":"a","x":"b"},{"name":"x","value":"c"}]"#,
                #"at [{"name":"pin","value":"***","x":"b"},{"name":"x","value":"c"}]"#
            ),
            (
                #"at [{"value":"a","x":"Bearer b1","name":"pin"},{"value":"c","name":"x"}]"#,
                #"at [{"value":"***","x":"Bearer ***","name":"pin"},{"value":"c","name":"x"}]"#
            ),
            (#"at {"value":1234,"key":"pin"}"#, #"at {"value":"***","key":"pin"}"#),
            (#"at {"key":"pin","value":{"a":["b"]}}"#, #"at {"key":"pin","value":"***"}"#),
            (
                #"[name: "pin", value: "a"], [name: "x", value: "b"]"#,
                #"[name: "pin", value: "***"], [name: "x", value: "b"]"#
            ),
            (
                "- name: HOST\n  value: a\n- name: DB_PASSWORD\n  value: b\n- name: X\n  value: c\n",
                "- name: HOST\n  value: a\n- name: DB_PASSWORD\n  value: ***\n- name: X\n  value: c\n"
            ),
            // After an unquoted value.
            (
                #"{"text":"token = a\n{\u0022key\u0022:\u0022pin\u0022,\u0022value\u0022:\u0022b\u0022}"}"#,
                #"{"text":"token = ***"}"#
            ),
            (
                #"{"text":"token = a\n\u0022key\u0022:\u0022pin\u0022,\u0022value\u0022:\u0022b\u0022"}"#,
                #"{"text":"token = ***\u0022key\u0022:\u0022pin\u0022,\u0022value\u0022:\u0022***\u0022"}"#
            ),
            (#"token=a{"value":"b","name":"pin"} c"#, "token=*** c"),
            (#"token=a{name: "pin", value: "b"} c"#, "token=*** c"),
            (#"token=array("name"=>"pin","value"=>"b") c"#, "token=*** c"),
            (#"token: Token(value: "b (c)", id: 7), d"#, "token: ***, d"),
            (#"Bearer abc1{name:"pin",value:"b"} c"#, #"Bearer ***{name:"pin",value:"***"} c"#),
            (#"password=ab"name"ef"#, "password=***"),
            ("<input value=a(b=c name=csrf_token>", "<input value=***"),
            ("value=a(b=c) name=pin d", "value=*** name=pin d"),
            // Another entry, another object, no entry.
            ("<input name=\"pin\"><input value=\"a\">", "<input name=\"pin\"><input value=\"a\">"),
            (#"at [{"value":"a"},{"name":"pin"}]"#, #"at [{"value":"a"},{"name":"pin"}]"#),
            ("key: token, the value of a name", "key: token, the value of a name"),
            ("name=\"value=a pin\"", "name=\"value=a pin\""),
            ("token name: a, content: b", "token name: a, content: b"),
        ])
    func aValueIsMaskedIfASiblingNamesASecret(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.text(text) == expected)
        #expect(Redaction.standard.text(expected) == expected)
    }

    @Test(arguments: [
        (
            #"error: {"body":"{\u0022password\u0022:\u0022a\u0022}"}"#,
            #"error: {"body":"{\u0022password\u0022:\u0022***\u0022}"}"#
        ),
        (#"{\u0027pin\u0027 : \u0027a b\u0027, x}"#, #"{\u0027pin\u0027 : \u0027***\u0027, x}"#),
        (#"\\u0022pin\\u0022:\\u0022a\\\\u0022b\\u0022,x"#, #"\\u0022pin\\u0022:\\u0022***\\u0022,x"#),
        (#"\u0022pin\u0022:\u0022a\\u0022b\\\u0022c\u0022,x"#, #"\u0022pin\u0022:\u0022***\u0022,x"#),
        (#"\\\u0022pin\\\u0022:\\\u0022a\\\u0022,x"#, #"\\\u0022pin\\\u0022:\\\u0022***\\\u0022,x"#),
        (#"\u0022pin\u0022:1234,\u0022x\u0022:5"#, #"\u0022pin\u0022:\u0022***\u0022,\u0022x\u0022:5"#),
        (#"\u0022pin\u0022=\u003e\u0022a\u0022,x"#, #"\u0022pin\u0022=\u003e\u0022***\u0022,x"#),
        (
            #"\u0022tokens\u0022:[\u0022a]\u0022,{}],\u0022x\u0022:5"#,
            #"\u0022tokens\u0022:\u0022***\u0022,\u0022x\u0022:5"#
        ),
        (#"\u0022x\u0022:\u0022token=a\u0022,\u0022y\u0022"#, #"\u0022x\u0022:\u0022token=***\u0022,\u0022y\u0022"#),
        ("token=a\\u0022b c", "token=*** c"),
        (#"\u0022Bearer abc\u0022 a=1\u0026pin=2 x"#, #"\u0022Bearer ***\u0022 a=1\u0026pin=*** x"#),
        (#"\u0022eyJhbGci.eyJzdWIi.c2ln\u0022"#, #"\u0022***\u0022"#),
        (
            #"\u0022u\u0022:\u0022https://h/?x=1\u0022,\u0022pin\u0022:\u0022a\u0022"#,
            #"\u0022u\u0022:\u0022https://h/?x=1\u0022,\u0022pin\u0022:\u0022***\u0022"#
        ),
        (#"\u003cpin\u003ea\u003c/pin\u003e\u003cx\u003e"#, #"\u003cpin\u003e***\u003c/pin\u003e\u003cx\u003e"#),
        (#"\u0022x\u0022:\u0022y\u0022 \u00e9=1 \u002"#, #"\u0022x\u0022:\u0022y\u0022 \u00e9=1 \u002"#),
    ])
    func escapedQuotesAndBracketsAreRecognized(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.text(text) == expected)
        #expect(Redaction.standard.text(expected) == expected)
    }

    @Test(arguments: [
        (#"{ login(password: """a b""") { id } }"#, #"{ login(password: """***""") { id } }"#),
        (#"(password: """a\"""b"c""", x: "y")"#, #"(password: """***""", x: "y")"#),
        (#"(password: """""", x: "y")"#, #"(password: """***""", x: "y")"#),
        (#"(password: \"\"\"a\\\"\"\"b\"\"\", x: \"y\")"#, #"(password: \"\"\"***\"\"\", x: \"y\")"#),
        (
            #"(password: \u0022\u0022\u0022a\u0022\u0022\u0022)"#,
            #"(password: \u0022\u0022\u0022***\u0022\u0022\u0022)"#
        ),
        ("password = '''\na\n'''\nuser = 'b'", "password = '''***'''\nuser = 'b'"),
        (#"(password: """a b"" c"#, #"(password: """***"#),
        (#"(password: "", x: "", y: "")"#, #"(password: "***", x: "", y: "")"#),
    ])
    func tripleQuotedTextIsMaskedAsAWhole(text: String, shown: String) {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.text(text) == expected)
        #expect(Redaction.standard.text(expected) == expected)
    }

    @Test(arguments: [
        ("https://h/p?q=1", "https://h/p?q=1"),
        (
            "https://u:p@h/p?token=a%20b&q=1&token=c#token=d&e=f",
            "https://***@h/p?token=***&q=1&token=***#token=***&e=f"
        ),
        ("HTTPS://u@h", "HTTPS://***@h"),
        ("//u:p@h/x", "//***@h/x"),
        ("/p?user%5Bpassword%5D=a&q=1", "/p?user%5Bpassword%5D=***&q=1"),
        ("?api+key=a", "?api+key=***"),
        ("https://h/#/login?token=a&x=1", "https://h/#/login?token=***&x=1"),
        ("https://h/?token", "https://h/?token"),
        ("https://h/?token=", "https://h/?token="),
        ("https://h/?a=b=token=c", "https://h/?a=b=token=***"),
        ("https://h/?u=https://a:b@c/", "https://h/?u=https://***@c/"),
        ("https://h/?u=https%3A%2F%2Fa:b@c%2F&x=1", "https://h/?u=***&x=1"),
        ("https://h/?eyJhbGci.eyJzdWIi.c2ln", "https://h/?***"),
        ("https://h/v/eyJhbGci.eyJzdWIi.c2ln/x", "https://h/v/***/x"),
        (#"https://h/?x=1&{"password":"hun=ter2","a":1}&y=2"#, "https://h/?x=1&***&y=2"),
        (#"?{"password":"hunter2","note":"x=y"}"#, "?***"),
        ("https://h/?a:https://u:p@c/?x=1&y=2", "https://h/?***&y=2"),
        ("https://h/?a:b=1&c/d:e=2", "https://h/?a:b=1&c/d:e=2"),
        ("https://proxy/https://a:b@c/", "https://proxy/https://***@c/"),
        (
            "https://h/?X-Amz-Credential=a%2Fb&X-Amz-Date=2&X-Amz-Signature=c",
            "https://h/?X-Amz-Credential=***&X-Amz-Date=2&X-Amz-Signature=***"
        ),
        ("", ""),
        ("?", "?"),
        ("://@", "://@"),
    ])
    @HeavyWork func secretsInURLsAreMasked(text: String, shown: String) throws {
        let expected = shown.replacingOccurrences(of: "***", with: Redaction.mask)
        #expect(Redaction.standard.url(text) == expected)
        #expect(Redaction.standard.url(expected) == expected)
        if let url = URL(string: text) { #expect(Redaction.standard.url(url) == expected) }
    }

    @Test
    @HeavyWork func redactionNeverTrapsAndIsIdempotent() {
        var random = SplitMix64(seed: 0x5EC2E7)
        for _ in 0..<4000 {
            let text = Hostile.text(&random)
            let once = Redaction.standard.text(text)
            let twice = Redaction.standard.text(once)
            #expect(twice == once, "\(text.debugDescription)")
            let url = Redaction.standard.url(text)
            let again = Redaction.standard.url(url)
            #expect(again == url, "\(text.debugDescription)")
            for type in [
                nil, "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b",
            ] {
                _ = Redaction.standard.body(Data(text.utf8), contentType: type)
            }
        }
    }
}

enum Hostile {
    private static let pieces = [
        "token", "a", "x1", "Bearer", "Basic", "Digest", "Cookie", "Authorization", "password", "API key", "eyJ",
        "eyJa.b.c",
        "=", "=", ":", ":", "\"", "\"", "'", "`", "\\", "\\\"", " ", " ", "\t", "\n", "\r\n", "&", ",", ";", "{", "}",
        "[", "]",
        "(", ")", "<", ">", "</", "<token>", "<![CDATA[", "]]>", "/", "//", "://", "https://", "@", "?", "#", "%",
        "%3D", "%3A",
        "%20", "%26", "%2", "\\u0022", "\\\\u0022", "\\u003c", "&lt;", "&gt;", "&quot;", "&amp;quot;", "\"\"\"", "\")",
        "+", "name=", "\"value\":", "value='a'", "name=\"pin\"", "content=", "xoxb-1234567890", "ghp_",
        "-----BEGIN PRIVATE KEY-----", "-----END", ".", "*", "***REDACTED***", "\u{0}",
        "\u{E9}",
        "\u{1F511}", "--b", "Content-Disposition: form-data; name=\"token\"", "null", "1.5",
    ]

    static func text(_ random: inout SplitMix64) -> String {
        (0..<Int.random(in: 0...24, using: &random)).map { _ in
            pieces[Int.random(in: pieces.indices, using: &random)]
        }.joined()
    }
}
