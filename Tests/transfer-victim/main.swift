// SPDX-License-Identifier: MIT

import PulseKit

// Downloads a file until the process kills itself, some time after the first byte has come. Prints "whole" if the download
// ends before that. With a list, the download is that of its directory, or a new one if the list is empty.
//
// Usage: transfer-victim URL FILE LIFETIME-IN-MICROSECONDS [LIST]

struct Fetch: Endpoint {
    typealias Response = Data
    let path: String
}

let arguments = CommandLine.arguments
guard 4...5 ~= arguments.count, let lifetime = useconds_t(arguments[3]) else { exit(64) }

let firstReport = DispatchSemaphore(value: 0)
Thread.detachNewThread {
    firstReport.wait()
    usleep(lifetime)
    kill(getpid(), SIGKILL)
}

let client = PulseClient(configuration: PulseConfiguration().with(\.proxy, value: .direct))
let file = URL(fileURLWithPath: arguments[2])
do {
    if arguments.count == 5 {
        let downloads = Downloads(directory: URL(fileURLWithPath: arguments[4]), client: client)
        try await downloads.start()
        let listed = downloads.all
        if let completed = listed.first, case .completed = completed.latest { await completed.cancel() }
        let download: Download
        if let first = downloads.all.first {
            download = first
        } else {
            download = try await downloads.add(Fetch(path: arguments[1]), to: file)
        }
        for await event in download.events {
            if case .progress = event { firstReport.signal() }
            if case .failed(let error) = event { throw error }
        }
    } else {
        try await client.download(Fetch(path: arguments[1]), to: file) { _ in firstReport.signal() }
    }
    FileHandle.standardOutput.write(Data("whole\n".utf8))
} catch {
    FileHandle.standardOutput.write(Data("error \(error)\n".utf8))
}
exit(0)
