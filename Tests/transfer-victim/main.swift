// SPDX-License-Identifier: MIT

import PulseKit

// Downloads a file until the process kills itself, some time after the first byte has come. Prints "whole" if the download
// ends before that.
//
// Usage: transfer-victim URL FILE LIFETIME-IN-MICROSECONDS

struct Fetch: Endpoint {
    typealias Response = Data
    let path: String
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let lifetime = useconds_t(arguments[3]) else { exit(64) }

let firstReport = DispatchSemaphore(value: 0)
Thread.detachNewThread {
    firstReport.wait()
    usleep(lifetime)
    kill(getpid(), SIGKILL)
}

let client = PulseClient(configuration: PulseConfiguration().with(\.proxy, value: .direct))
do {
    try await client.download(Fetch(path: arguments[1]), to: URL(fileURLWithPath: arguments[2])) { _ in
        firstReport.signal()
    }
    FileHandle.standardOutput.write(Data("whole\n".utf8))
} catch {
    FileHandle.standardOutput.write(Data("error \(error)\n".utf8))
}
exit(0)
