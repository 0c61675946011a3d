// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import Foundation
import PackageDescription

// Each file is a program: `swift run --package-path Docs/Snippets GettingStarted`. They are no part of the package itself,
// since `swift test` would link fifty executables.
let files = try FileManager.default.contentsOfDirectory(atPath: Context.packageDirectory).sorted()
let programs = files.filter { $0.hasSuffix(".swift") && $0 != "Package.swift" }

let package = Package(
    name: "Snippets",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    dependencies: [.package(name: "PulseKit", path: "../..")],
    targets: programs.map { file in
        .executableTarget(
            name: String(file.dropLast(".swift".count)),
            dependencies: ["PulseKit", "PulseUI", "PulseTesting"].map { .product(name: $0, package: "PulseKit") },
            path: ".", exclude: files.filter { $0 != file }, sources: [file])
    },
    swiftLanguageModes: [.v6]
)
