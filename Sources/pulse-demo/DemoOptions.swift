// SPDX-License-Identifier: MIT

import PulseKit

/// The command-line options of the demo: how much it prints, and files to write in addition.
struct DemoOptions {
    static let usage = "usage: pulse-demo [--verbose] [--report <file.html>] [--har <file.har>]"

    /// Whether each step's events are printed.
    private(set) var isVerbose = false
    private(set) var report: URL?
    private(set) var har: URL?

    /// Parses the arguments; nil if one of them is not a known option.
    init?(_ arguments: some Sequence<String>) {
        var iterator = arguments.makeIterator()
        while let name = iterator.next() {
            guard name != "--verbose" else {
                isVerbose = true
                continue
            }
            guard let path = iterator.next(), !path.isEmpty else { return nil }
            switch name {
            case "--report": report = URL(fileURLWithPath: path)
            case "--har": har = URL(fileURLWithPath: path)
            default: return nil
            }
        }
    }
}

extension Stage {
    /// Writes what all steps sent and received, if requested.
    func writeRecording(_ options: DemoOptions) throws {
        let recording = recorder.recording()
        if let file = options.report {
            try PulseReport(recording, title: "pulse-demo").write(to: file)
            write("\nThe report of \(recording.calls.count) calls is in \(file.path)")
        }
        if let file = options.har {
            try recording.har().write(to: file, options: .atomic)
            write("\nThe HAR of \(recording.calls.count) calls is in \(file.path)")
        }
    }
}
