// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// A command-line tool over an API like GitHub's: pages, a token, a cache on disk, logs, exit codes, Ctrl-C.
// `./check` runs it against a server on loopback.
let package = Package(
    name: "CommandLine",
    platforms: [.macOS(.v12)],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.3.0"),
    ],
    targets: [
        .executableTarget(
            name: "issues",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
