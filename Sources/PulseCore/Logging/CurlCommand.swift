// SPDX-License-Identifier: MIT

extension URLRequest {
    /// The request as a `curl` command with its secrets masked: single-quoted, and safe to paste into a POSIX shell.
    ///
    /// Headers are sorted by name. A text body is part of the command. A body that is binary, larger than
    /// `maxBodyLength`, a file or a stream is only named, as `--data-binary '@body-of-120-bytes'`: save it under that
    /// name first. Headers that cannot be sent are omitted: the name is not a token, or the value has a control
    /// character other than a tab.
    ///
    /// - Parameter body: the body if it is not in `httpBody`: ``PluginContext/body``.
    /// - Parameter redaction: the rules for masking; nil shows every secret.
    /// - Parameter maxBodyLength: the maximum size of a body in the command; 65,536 bytes by default, since shells
    ///   limit the length of a word.
    public func curlCommand(
        body: PluginContext.Body = .inRequest, redaction: Redaction? = .standard, maxBodyLength: Int = 65_536
    ) -> String {
        CurlCommand(request: self, body: body, redaction: redaction, maxBodyLength: maxBodyLength).text
    }
}

/// Builds the words of the command.
private struct CurlCommand {
    let request: URLRequest
    let body: PluginContext.Body
    let redaction: Redaction?
    let maxBodyLength: Int

    var text: String {
        let (input, data) = dataOption
        let words = [command] + methodOption + headerOptions + (data.map { [$0] } ?? [])
        return (input.map { "printf \($0) | " } ?? "") + words.joined(separator: " \\\n  ")
    }

    private var command: String {
        let url = request.url.map { redaction?.url($0) ?? $0.absoluteString } ?? ""
        // curl interprets brackets and braces as ranges of URLs.
        let glob = url.contains { "[]{}".contains($0) } ? "--globoff " : ""
        // PulseKit sends a path unchanged, while curl removes dot segments.
        let path = request.url.map { PercentEncoding.containsDotSegment($0.path) } == true ? "--path-as-is " : ""
        return "curl \(glob)\(path)\(ShellText.word(url.utf8))"
    }

    // MARK: Method and headers

    private var methodOption: [String] {
        switch request.httpMethod ?? "GET" {
        case "GET" where !hasBody: []
        // With `--request HEAD`, curl would wait for a body.
        case "HEAD" where !hasBody: ["--head"]
        case let method: ["-X \(ShellText.word(method.utf8))"]
        }
    }

    private var headerOptions: [String] {
        var options: [String] = []
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard name.isHTTPToken, value.isHTTPFieldValue else { continue }
            // curl computes it for the body in the command.
            if name.equalsIgnoringASCIICase("Content-Length") { continue }
            // With this option curl offers the codings that it can decode, and decodes them. A request for the
            // unencoded bytes keeps its header.
            if name.equalsIgnoringASCIICase("Accept-Encoding"), !value.equalsIgnoringASCIICase("identity") {
                options.append("--compressed")
                continue
            }
            let shown = redaction?.headerValue(value, for: name) ?? value
            // With a colon and only blanks, curl would omit the header.
            let isBlank = shown.utf8.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            let line = isBlank ? "\(name);" : "\(name): \(shown)"
            options.append("-H \(ShellText.word(OctetText.bytes(line) ?? Array(line.utf8)))")
        }
        if hasBody, request.value(forHTTPHeaderField: "Content-Type") == nil {
            // Otherwise curl would label the body as a form.
            options.append("-H 'Content-Type:'")
        }
        return options
    }

    // MARK: Body

    private var hasBody: Bool {
        if case .inRequest = body { request.httpBody?.isEmpty == false } else { true }
    }

    /// The option for the body, and the format for `printf` if that produces the body.
    private var dataOption: (input: String?, option: String?) {
        switch body {
        case .inRequest:
            guard let data = request.httpBody, !data.isEmpty else { return (nil, nil) }
            guard let text = text(of: data) else { return (nil, Self.placeholder("body-of-\(data.count)-bytes")) }
            if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
                return (nil, "--data-raw \(ShellText.word(text.utf8))")
            }
            return (ShellText.printfFormat(text.utf8), "--data-binary @-")
        case .file:
            return (nil, Self.placeholder("file"))
        case .stream(let stream):
            return (nil, Self.placeholder(stream.length.map { "stream-of-\($0)-bytes" } ?? "stream"))
        }
    }

    private static func placeholder(_ name: String) -> String {
        "--data-binary '@\(name)'"
    }

    /// The text of the body if it can be part of the command.
    private func text(of data: Data) -> String? {
        guard data.count <= maxBodyLength else { return nil }
        let coding = request.value(forHTTPHeaderField: "Content-Encoding") ?? ""
        guard coding.isEmpty || coding.equalsIgnoringASCIICase("identity") else { return nil }
        // Text that is not valid UTF-8 would become a different body.
        guard !data.contains(0), String(data: data, encoding: .utf8) != nil else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        guard let redaction else { return text }
        return redaction.body(data, contentType: request.value(forHTTPHeaderField: "Content-Type"))
    }
}
